//go:build !unix

package cluster

import (
	"os"
	"os/exec"
)

func (account) runAs(*exec.Cmd) {}
func detach(*exec.Cmd)          {}
func tryLock(*os.File) error    { return nil }
func unlock(*os.File) error     { return nil }
