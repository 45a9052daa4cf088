//go:build unix && !linux

package cluster

import (
	"os/exec"
	"strconv"
	"syscall"
)

// dieWithParent does nothing: here a server outlives a killed parent until the next Start or Remove.
func dieWithParent(*syscall.SysProcAttr) {}

// commandLine is the one that pid was started with; empty when there is no such process.
func commandLine(pid int) string {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return string(out)
}
