//go:build !linux

package programtest

import "syscall"

// endWithParent does nothing: processes go on after a test that was killed.
func endWithParent() *syscall.SysProcAttr { return nil }
