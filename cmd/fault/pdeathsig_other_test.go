//go:build !linux

package fault_test

import "syscall"

// endWithParent does nothing: processes go on after a test that was killed.
func endWithParent() *syscall.SysProcAttr { return nil }
