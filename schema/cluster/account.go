package cluster

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
)

// account is the user that PostgreSQL's programs run as.
type account struct {
	name     string
	uid, gid int
	switched bool // it is not this process's user
}

// serverAccount is this process's user, or an unprivileged one if that is root, because PostgreSQL refuses to run as
// root.
func serverAccount() (account, error) {
	uid := os.Geteuid()
	if uid < 0 {
		return account{}, errors.New("a private PostgreSQL server runs on Linux, macOS and BSD only: use an existing server")
	}

	if uid != 0 {
		return account{name: "user " + strconv.Itoa(uid), uid: uid, gid: os.Getegid()}, nil
	}

	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid) // they are numbers wherever PostgreSQL runs
			gid, _ := strconv.Atoi(u.Gid)
			return account{name: "user " + name, uid: uid, gid: gid, switched: true}, nil
		}
	}

	return account{}, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// chown makes the account the owner of path.
func (a account) chown(path string) error { return os.Lchown(path, a.uid, a.gid) }

// reaches tells whether the account can enter the folder.
func (a account) reaches(dir string) bool {
	cmd := exec.Command("true") //nolint:noctx // it ends at once
	cmd.Dir = dir
	a.runAs(cmd)
	return cmd.Run() == nil
}
