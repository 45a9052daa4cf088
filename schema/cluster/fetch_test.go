package cluster

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// archive is what the download's server has: a zip with a tar in it. The programs in this one are scripts that say a version.
func archive(t *testing.T) []byte {
	t.Helper()
	programs, err := os.ReadFile("testdata/programs.txz")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("postgres.txz")
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

func upstream(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

func TestDownload(t *testing.T) {
	jar := archive(t)
	url := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".jar") {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(jar) // a client that has left is the test's failure elsewhere
	})
	programs := filepath.Join(t.TempDir(), "programs")
	if err := download(t.Context(), url, programs, func(string) {}); err != nil {
		t.Fatal(err)
	}
	me := account{name: "this user"}
	if pg, err := inspect(t.Context(), filepath.Join(programs, "bin"), me); err != nil || pg.major != 17 {
		t.Errorf("downloaded %+v, %v", pg, err)
	}
	nothingBeside(t, programs)
}

func TestDownload_TellsWhyItFails(t *testing.T) {
	url := upstream(t, http.NotFound)
	programs := filepath.Join(t.TempDir(), "programs")
	err := download(t.Context(), url, programs, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "404 Not Found") {
		t.Errorf("%v, want 404", err)
	}
	nothingBeside(t, programs)
}

func TestDownload_CanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	url := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	programs := filepath.Join(t.TempDir(), "programs")
	if err := download(ctx, url, programs, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	nothingBeside(t, programs)
}

func TestFetchDir_IsOpenToTheServersUser(t *testing.T) {
	owner, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fetchDir(filepath.Join(t.TempDir(), "cache"), owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if !owner.canEnter(dir) {
		t.Errorf("%s can't enter %s", owner.name, dir)
	}
}

// nothingBeside checks that a download cleans up after itself.
func nothingBeside(t *testing.T, programs string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(programs))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(programs) {
			t.Errorf("%s is left", e.Name())
		}
	}
}
