package cluster

import "syscall"

// endWithParent makes the kernel request PostgreSQL's immediate shutdown when this process ends.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
