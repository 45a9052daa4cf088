//go:build !unix

package cluster

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
)

type account struct {
	name     string
	switched bool
}

var errUnsupported = errors.New("a private PostgreSQL server runs on Linux, macOS and BSD only: use an existing server")

func serverAccount() (account, error)  { return account{}, errUnsupported }
func (account) runAs(*exec.Cmd)        {}
func (account) chown(string) error     { return errUnsupported }
func (account) canReach(string) bool   { return false }
func ownedByProcess(fs.FileInfo) bool  { return false }
func detach(*exec.Cmd)                 {}
func lockDir(string) (*os.File, error) { return nil, errUnsupported }
func unlockDir(*os.File) error         { return errUnsupported }
