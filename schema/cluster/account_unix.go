//go:build unix

package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user that PostgreSQL's programs run as.
type account struct {
	name     string
	uid, gid uint32
	switched bool // it is not this process's user
}

// serverAccount is this process's user, or an unprivileged one if that is root, because PostgreSQL refuses to run as root.
func serverAccount() (account, error) {
	if uid := os.Geteuid(); uid != 0 {
		return account{name: "uid " + strconv.Itoa(uid), uid: uint32(uid), gid: uint32(os.Getegid())}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		// Some systems have negative ids for nobody.
		uid, err1 := strconv.ParseInt(u.Uid, 10, 64)
		gid, err2 := strconv.ParseInt(u.Gid, 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return account{}, fmt.Errorf("user %s: %w", name, err)
		}
		return account{name: "user " + name, uid: uint32(uid), gid: uint32(gid), switched: true}, nil
	}
	return account{}, errors.New("PostgreSQL does not run as root, and this machine has neither a user postgres nor a user nobody")
}

// runAs makes cmd run as the account.
func (a account) runAs(cmd *exec.Cmd) {
	if a.switched {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.gid}}
	}
}

// chown makes the account the owner of path.
func (a account) chown(path string) error {
	if !a.switched {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// canReach reports whether the account can search dir, an absolute path without links, and all its parents. Only root asks
// this for another user, and root can stat everything.
func (a account) canReach(dir string) bool {
	if !a.switched {
		return true
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&a.searchBit(info) == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// searchBit is the permission bit that applies when the account searches the folder.
func (a account) searchBit(info fs.FileInfo) fs.FileMode {
	stat := info.Sys().(*syscall.Stat_t)
	switch {
	case stat.Uid == a.uid:
		return 0o100
	case stat.Gid == a.gid:
		return 0o010
	default:
		return 0o001
	}
}

// ownedByProcess reports whether the file belongs to this process's user.
func ownedByProcess(info fs.FileInfo) bool {
	return info.Sys().(*syscall.Stat_t).Uid == uint32(os.Geteuid())
}

// detach takes cmd out of the terminal's process group.
func detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	endWithParent(cmd.SysProcAttr)
}

// lockDir locks the folder until unlockDir is called, or this process ends. It returns ErrInUse if the folder is locked, and
// fs.ErrNotExist if it was removed in the meantime. It locks the folder itself and not a file in it, because
// systemd-tmpfiles spares locked folders when it cleans /var/tmp.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrInUse
		}
		return nil, errors.Join(err, f.Close())
	}
	// A concurrent Remove may have deleted the folder between the opening and the locking.
	locked, err1 := f.Stat()
	named, err2 := os.Stat(dir)
	if err := errors.Join(err1, err2); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !os.SameFile(locked, named) {
		return nil, errors.Join(fs.ErrNotExist, f.Close())
	}
	return f, nil
}

// unlockDir unlocks a folder. To close the file is not enough: a child that another goroutine is just starting has a copy of it until it
// runs its program.
func unlockDir(lock *os.File) error {
	return errors.Join(syscall.Flock(int(lock.Fd()), syscall.LOCK_UN), lock.Close())
}
