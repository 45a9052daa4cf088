package replay

import (
	"errors"
	"fmt"
	"syscall"
)

// spaceFactor is how much room a spool needs for a byte of the stream: for the messages themselves, and for what precedes each. The rows
// of a large phone system, of one at a time, fit in the rest.
const spaceFactor = 1.3

// ErrSpace is a file system without room for a spool.
var ErrSpace = errors.New("not enough free space")

// CheckSpace is an [ErrSpace] if a folder has no room to spool messages of messageBytes.
func CheckSpace(dir string, messageBytes int64) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("free space of %s: %w", dir, err)
	}
	free, need := int64(fs.Bavail)*fs.Bsize, int64(float64(messageBytes)*spaceFactor)
	if free < need {
		return fmt.Errorf("%w: %s has %d MiB free and needs %d MiB; free space there or name another folder", ErrSpace, dir, free>>20, need>>20)
	}
	return nil
}

// IsSpaceError tells whether a file system had no room, before the beginning or since.
func IsSpaceError(err error) bool {
	return errors.Is(err, ErrSpace) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
