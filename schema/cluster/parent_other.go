//go:build unix && !linux

package cluster

import "syscall"

// endWithParent does nothing: the next Start or Remove ends a server whose parent was killed.
func endWithParent(*syscall.SysProcAttr) {}
