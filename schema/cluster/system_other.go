//go:build !unix

package cluster

import (
	"errors"
	"os"
	"os/exec"
)

func (account) runAs(*exec.Cmd) {}
func detach(*exec.Cmd)          {}
func unlock(*os.File) error     { return nil }

func tryLock(*os.File) error {
	return errors.New("a private PostgreSQL server runs on Linux, macOS and BSD only: use an existing server")
}
