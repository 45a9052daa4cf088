package programtest

import "syscall"

// endWithParent makes the kernel kill a process when the test's process is killed.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
