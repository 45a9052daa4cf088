package schematest

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"callboard/schema/cluster"
)

// NewCluster starts a server of the test's own, for what belongs to a whole server: settings, passwords, access rules. It stops when the
// test ends.
func NewCluster(tb testing.TB, settings map[string]string) *cluster.Cluster {
	tb.Helper()
	base := baseDir()
	removeAbandoned(base)
	dir := filepath.Join(base, folderPrefix+strings.ToLower(rand.Text()))
	c, err := cluster.Start(tb.Context(), cluster.Config{DataDir: dir, Download: true, InitdbCache: initdbCache(), Settings: settings})
	if err != nil {
		tb.Fatalf("PostgreSQL: %v", errors.Join(err, cluster.Remove(dir)))
	}
	tb.Cleanup(func() {
		if err := errors.Join(c.Stop(), remove(dir)); err != nil {
			tb.Errorf("PostgreSQL: %v", err)
		}
	})
	return c
}
