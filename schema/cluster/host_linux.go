package cluster

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// dieWithParent has the kernel ask for PostgreSQL's immediate shutdown when this program is gone.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }

// commandLine is the one that pid was started with; empty when there is no such process.
func commandLine(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(bytes.ReplaceAll(raw, []byte{0}, []byte{' '}))
}
