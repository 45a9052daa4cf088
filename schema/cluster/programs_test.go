package cluster

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckPrograms_Errors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, postgres, want string }{
		{"too old", "#!/bin/sh\necho 'postgres (PostgreSQL) 12.3'\n", "PostgreSQL 12 is too old, 14 or newer is required"},
		{"another program", "#!/bin/sh\necho hello\n", "cannot run postgres --version"},
		{"not executable", "#!/no/such/shell\n", "cannot run postgres --version"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "postgres"), []byte(test.postgres), 0o755); err != nil {
				t.Fatal(err)
			}
			_, err := checkPrograms(t.Context(), dir, account{name: "this user"})
			mustContain(t, err, test.want)
		})
	}
}

func TestInstallCommand(t *testing.T) {
	t.Parallel()
	tests := []struct{ system, manager, want string }{
		{"darwin", "apt-get", "brew install postgresql@17"},
		{"linux", "apt-get", "apt-get install postgresql"},
		{"linux", "dnf", "dnf install postgresql-server"},
	}
	for _, test := range tests {
		lookPath := func(name string) (string, error) {
			if name == test.manager {
				return "/usr/bin/" + name, nil
			}
			return "", errors.New("not found")
		}
		if got := installCommand(test.system, lookPath); got != test.want {
			t.Errorf("command on %s with %s = %q, want %q", test.system, test.manager, got, test.want)
		}
	}
}

// archive is an archive of PostgreSQL, whose programs are scripts: postgres prints a version.
func archive(t *testing.T) []byte {
	t.Helper()
	programs, err := os.ReadFile("testdata/programs.txz")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("postgres-linux-x86_64.txz")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(programs)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Only a complete PostgreSQL appears in the folder, and nothing beside it.
func TestFetch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // the library leaves its log there
	jar := archive(t)
	sum := fmt.Sprintf("%x", sha256.Sum256(jar))
	tests := []struct {
		name     string
		archive  []byte // nil: there is none
		checksum string
		want     string // in the error; empty: none
	}{
		{"complete", jar, sum, ""},
		{"wrong checksum", jar, strings.Repeat("0", 64), "checksums do not match"},
		{"no archive", nil, sum, "no version found"},
		{"not an archive", []byte("<html>"), fmt.Sprintf("%x", sha256.Sum256([]byte("<html>"))), "not a valid zip file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, ".jar.sha256"):
					_, _ = w.Write([]byte(test.checksum))
				case test.archive != nil:
					_, _ = w.Write(test.archive) // the client checks what it gets
				default:
					http.NotFound(w, r)
				}
			}))
			t.Cleanup(s.Close)
			parent := t.TempDir()
			dir := filepath.Join(parent, "postgresql")
			err := fetch(t.Context(), s.URL, dir, func(string) {})
			entries, _ := os.ReadDir(parent)
			if test.want != "" {
				mustContain(t, err, test.want)
				if len(entries) > 0 {
					t.Errorf("files = %v, want none", entries)
				}
				return
			}
			if err != nil || len(entries) != 1 {
				t.Fatalf("files = %v, error = %v, want one and none", entries, err)
			}
			pg, err := checkPrograms(t.Context(), filepath.Join(dir, "bin"), account{name: "this user"})
			if err != nil || pg.major != 17 {
				t.Errorf("programs = %+v, %v, want PostgreSQL 17", pg, err)
			}
			s.Close() // a second call needs no server
			if err := fetch(t.Context(), s.URL, dir, func(string) {}); err != nil {
				t.Error(err)
			}
		})
	}
}
