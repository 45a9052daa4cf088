//go:build !unix && !operator

package main

import "os"

// lockFile does not lock. An embedded PostgreSQL cluster, which must not run twice, needs Unix.
func lockFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) }

func unlockFile(f *os.File) { _ = f.Close() }
