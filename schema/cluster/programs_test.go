package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseMajor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		version string
		want    int // 0: an error
	}{
		{"postgres (PostgreSQL) 17.5", 17},
		{"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", 15},
		{"postgres (PostgreSQL) 19beta1", 19},
		{"postgres (EnterpriseDB) 17.5", 0},
	}
	for _, test := range tests {
		got, err := parseMajor(test.version)
		if got != test.want || (err == nil) != (test.want != 0) {
			t.Errorf("parseMajor(%q) = %d, %v, want %d", test.version, got, err, test.want)
		}
	}
}

func TestCheckPrograms_Errors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, postgres, want string }{
		{"too old", "#!/bin/sh\necho 'postgres (PostgreSQL) 12.3'\n", "PostgreSQL 12 is too old, 14 or newer is required"},
		{"another program", "#!/bin/sh\necho hello\n", `unexpected output of postgres --version: "hello"`},
		{"not executable", "#!/no/such/shell\n", "cannot run postgres --version"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, program := range []string{"postgres", "initdb"} {
				if err := os.WriteFile(filepath.Join(dir, program), []byte(test.postgres), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			_, err := checkPrograms(t.Context(), dir, account{name: "this user"})
			mustContain(t, err, test.want)
		})
	}
}

func TestErrNotInstalled_NamesOneCommand(t *testing.T) {
	t.Parallel()
	only := func(manager string) func(string) (string, error) {
		return func(name string) (string, error) {
			if name == manager {
				return "/usr/bin/" + name, nil
			}
			return "", errors.New("not found")
		}
	}
	tests := []struct{ system, manager, want string }{
		{"darwin", "apt-get", "brew install postgresql@17"},
		{"linux", "apt-get", "apt-get install postgresql"},
		{"linux", "dnf", "dnf install postgresql-server"},
	}
	for _, test := range tests {
		if got := installCommand(test.system, only(test.manager)); got != test.want {
			t.Errorf("installCommand(%s) with %s = %s, want %s", test.system, test.manager, got, test.want)
		}
	}
	message := errNotInstalled([]string{"/opt/pg12: too old"}).Error()
	for _, want := range []string{"install it with", "--postgres-bin", "/opt/pg12: too old"} {
		if !strings.Contains(message, want) {
			t.Errorf("message = %q, want one that contains %q", message, want)
		}
	}
}
