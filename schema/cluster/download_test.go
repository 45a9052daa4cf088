package cluster

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// testArchive is an archive whose programs are scripts that print a version.
func testArchive(t *testing.T, name string) []byte {
	t.Helper()
	programs, err := os.ReadFile("testdata/programs.txz")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(programs); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// serve answers requests for the archive and its checksum with a function each; nil is 404.
func serve(t *testing.T, archive, checksum http.HandlerFunc) download {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler := archive
		if strings.HasSuffix(r.URL.Path, ".jar.sha256") {
			handler = checksum
		}
		if handler == nil {
			handler = http.NotFound
		}
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return download{repository: s.URL, dir: t.TempDir(), progress: func(string) {}}
}

func content(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) } // the client checks what it gets
}

// mustBeInstalled checks that the download's folder holds working programs and nothing else.
func mustBeInstalled(t *testing.T, d download) {
	t.Helper()
	pg, err := checkPrograms(t.Context(), filepath.Join(d.dir, "programs", "bin"), account{name: "this user"})
	if err != nil || pg.major != 17 {
		t.Errorf("programs = %+v, %v, want PostgreSQL 17", pg, err)
	}
	mustHoldOnly(t, d.dir, "programs")
}

func mustHoldOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("files = %v, want %v", got, want)
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	jar := testArchive(t, "postgres-linux-x86_64.txz")
	sum := sha256.Sum256(jar)
	checksum := []byte(hex.EncodeToString(sum[:]))
	truncated := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(jar)))
		_, _ = w.Write(jar[:len(jar)/2])
	}
	tests := []struct {
		name              string
		archive, checksum http.HandlerFunc
		want              string // in the error; empty for none
	}{
		{"with a checksum", content(jar), content(checksum), ""},
		{"without a checksum", content(jar), nil, ""},
		{"wrong checksum", content(jar), content([]byte(strings.Repeat("0", 64))), "SHA-256"},
		{"no archive", nil, nil, "404 Not Found"},
		{"interrupted", truncated, content(checksum), "unexpected EOF"},
		{"not an archive", content([]byte("<html>")), nil, "unpack"},
		{"archive without programs", content(testArchive(t, "README")), nil, "no .txz file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := serve(t, test.archive, test.checksum)
			err := d.run(t.Context())
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				mustBeInstalled(t, d)
				return
			}
			mustContain(t, err, test.want)
			mustHoldOnly(t, d.dir)
		})
	}
}

// A second download succeeds after one that was killed or has failed, and replaces incomplete programs.
func TestDownload_AfterInterruption(t *testing.T) {
	t.Parallel()
	d := serve(t, content(testArchive(t, "postgres.txz")), nil)
	for _, dir := range []string{"unpacked/bin/postgres", "programs/bin"} {
		if err := os.MkdirAll(filepath.Join(d.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustBeInstalled(t, d)
}

func TestDownload_Cancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}, nil)
	if err := d.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	mustHoldOnly(t, d.dir)
}

func TestDownload_Progress(t *testing.T) {
	t.Parallel()
	var steps []string
	w := &progressWriter{total: 2 << 20, progress: func(step string) { steps = append(steps, step) }}
	for range 4 {
		if _, err := w.Write(make([]byte, 1<<19)); err != nil {
			t.Fatal(err)
		}
	}
	const want = "downloading PostgreSQL: 1 of 2 MB\ndownloading PostgreSQL: 2 of 2 MB"
	if got := strings.Join(steps, "\n"); got != want {
		t.Errorf("steps = %q, want %q", got, want)
	}
}

func TestArchivePath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		system, arch string
		alpine       bool
		want         string
	}{
		{"linux", "amd64", false, "linux-amd64"},
		{"linux", "amd64", true, "linux-amd64-alpine"},
		{"linux", "arm64", false, "linux-arm64v8"},
		{"linux", "arm", false, "linux-arm32v7"},
		{"darwin", "arm64", false, "darwin-arm64v8"},
	}
	for _, test := range tests {
		name := "embedded-postgres-binaries-" + test.want
		want := "/io/zonky/test/postgres/" + name + "/17.5.0/" + name + "-17.5.0.jar"
		if got := archivePath(test.system, test.arch, test.alpine); got != want {
			t.Errorf("archivePath(%s, %s, %t) = %s, want %s", test.system, test.arch, test.alpine, got, want)
		}
	}
}

func TestDownloadDir_ReachableByServer(t *testing.T) {
	t.Parallel()
	user, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := downloadDir(filepath.Join(t.TempDir(), "cache"), user)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if !user.canReach(dir) {
		t.Errorf("%s cannot reach %s", user.name, dir)
	}
}
