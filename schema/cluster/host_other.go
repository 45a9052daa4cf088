//go:build !unix

package cluster

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
)

// account is the user that PostgreSQL's programs run as.
type account struct {
	name     string
	switched bool
}

var errUnsupported = errors.New("a private PostgreSQL server runs on Linux, macOS and BSD only: use a server that runs already")

func serverAccount() (account, error)  { return account{}, errUnsupported }
func (account) assume(*exec.Cmd)       {}
func (account) own(string) error       { return errUnsupported }
func (account) canEnter(string) bool   { return false }
func isOwn(fs.FileInfo) bool           { return false }
func detach(*exec.Cmd)                 {}
func lockDir(string) (*os.File, error) { return nil, errUnsupported }
func commandLine(int) string           { return "" }
