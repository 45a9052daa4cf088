package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseMajor(t *testing.T) {
	tests := []struct {
		said string
		want int
	}{
		{"postgres (PostgreSQL) 17.5\n", 17},
		{"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", 15},
		{"postgres (PostgreSQL) 19beta1\n", 19},
		{"postgres (EnterpriseDB) 17.5\n", 0},
	}
	for _, test := range tests {
		got, err := parseMajor(test.said)
		if got != test.want || (err == nil) != (test.want != 0) {
			t.Errorf("%q: %d, %v; want %d", test.said, got, err, test.want)
		}
	}
}

func TestInspect_SaysWhatIsUnfit(t *testing.T) {
	tests := []struct{ name, postgres, want string }{
		{"too old", "#!/bin/sh\necho 'postgres (PostgreSQL) 12.3'\n", "it holds PostgreSQL 12, and 14 or newer is needed"},
		{"another program", "#!/bin/sh\necho hello\n", `calls itself "hello"`},
		{"one that can't run", "#!/no/such/shell\n", "can't run its programs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, program := range []string{"postgres", "initdb"} {
				if err := os.WriteFile(filepath.Join(dir, program), []byte(test.postgres), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			_, err := inspect(t.Context(), dir, account{name: "this user"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestErrNoInstall_NamesOneCommand(t *testing.T) {
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
			t.Errorf("%s with %s: %s, want %s", test.system, test.manager, got, test.want)
		}
	}
	message := errNoInstall([]string{"/opt/pg12: too old"}).Error()
	for _, want := range []string{"install it with", "--postgres-bin", "/opt/pg12: too old"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q doesn't say %q", message, want)
		}
	}
}
