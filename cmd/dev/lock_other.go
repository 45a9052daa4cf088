//go:build !unix

package dev

import "os"

// lockFile does not lock: PostgreSQL's cluster, which does, runs on Unix only.
func lockFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) }
