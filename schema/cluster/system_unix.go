//go:build unix

package cluster

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// runAs makes cmd run as the account.
func (a account) runAs(cmd *exec.Cmd) {
	cmd.SysProcAttr = new(syscall.SysProcAttr)
	if a.switched {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
}

// detach takes cmd out of the terminal's process group.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr.Setpgid = true
	endWithParent(cmd.SysProcAttr)
}

// tryLock locks a file or a folder until every copy of the handle is closed, or unlock is called.
func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	return err
}

func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
