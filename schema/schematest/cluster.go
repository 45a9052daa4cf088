package schematest

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"callboard/schema/cluster"
)

// NewCluster starts a server of the test's own, for what belongs to a whole server: settings, passwords, access rules.
// It stops when the test ends.
func NewCluster(tb testing.TB, settings map[string]string) *cluster.Cluster {
	tb.Helper()
	return startCluster(tb, cluster.Config{Password: rand.Text(), Settings: settings})
}

// NewStandby starts a copy of a running server, which streams from it until it is promoted, and stops when the test
// ends. The URL is the superuser's. Some settings must not be less than the primary's. Where PostgreSQL has no
// pg_basebackup, the test is skipped.
func NewStandby(tb testing.TB, primary string, settings map[string]string) *cluster.Cluster {
	tb.Helper()
	u, err := url.Parse(primary)
	if err != nil {
		tb.Fatal(err)
	}

	// A standby has the primary's roles, so their passwords are the primary's, too.
	password, _ := u.User.Password()
	copyPrimary := func(data string, run func(string, ...string) error) error {
		err := run("pg_basebackup", "--pgdata", data, "--dbname", primary,
			"--wal-method", "stream", "--checkpoint", "fast", "--write-recovery-conf", "--no-sync")
		if errors.Is(err, fs.ErrNotExist) {
			tb.Skip("this PostgreSQL has no pg_basebackup")
		}
		return err
	}

	return startCluster(tb, cluster.Config{Password: password, Create: copyPrimary, Settings: settings})
}

func startCluster(tb testing.TB, config cluster.Config) *cluster.Cluster {
	tb.Helper()
	base := baseDir()
	removeAbandoned(base)
	config.DataDir = filepath.Join(base, folderPrefix+strings.ToLower(rand.Text()))

	c, err := cluster.Start(tb.Context(), config)
	if err != nil {
		tb.Fatalf("PostgreSQL: %v", errors.Join(err, cluster.Remove(config.DataDir)))
	}

	tb.Cleanup(func() {
		if err := errors.Join(c.Stop(), remove(config.DataDir)); err != nil {
			tb.Errorf("PostgreSQL: %v", err)
		}
	})

	return c
}
