package fault_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// disk is a file system of its own, which has room for a database or none at all.
type disk struct {
	tb  testing.TB
	dir string
}

// newDisk mounts a disk for a server, beside the folder of its data. It is nil where nothing may be mounted.
func newDisk(tb testing.TB, data string) *disk {
	tb.Helper()
	info, err := os.Stat(data)
	if err != nil {
		tb.Fatal(err)
	}
	d := &disk{tb: tb, dir: filepath.Dir(data) + "-disk"}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.Remove(d.dir); err != nil {
			tb.Error(err)
		}
	})
	owner := info.Sys().(*syscall.Stat_t)
	out, err := exec.CommandContext(tb.Context(), "mount", "-t", "tmpfs",
		"-o", fmt.Sprintf("size=%s,mode=0700,uid=%d,gid=%d", roomy, owner.Uid, owner.Gid), "callboard", d.dir).CombinedOutput()
	if err != nil {
		tb.Logf("no disk will be full: mount: %v: %s", err, bytes.TrimSpace(out))
		return nil
	}
	tb.Cleanup(func() {
		if err := syscall.Unmount(d.dir, 0); err != nil {
			tb.Error(err)
		}
	})
	return d
}

const roomy = "4g"

// fill leaves the disk no room.
func (d *disk) fill() {
	d.tb.Helper()
	await(d.tb, "a disk without room", func() bool {
		var at syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &at); err != nil {
			d.tb.Fatal(err)
		}
		// It is refused where more has been written since.
		return d.resize(strconv.FormatUint((at.Blocks-at.Bfree)*uint64(at.Bsize), 10)) == nil
	})
}

// free makes room.
func (d *disk) free() {
	d.tb.Helper()
	if err := d.resize(roomy); err != nil {
		d.tb.Fatal(err)
	}
}

func (d *disk) resize(size string) error {
	return exec.CommandContext(d.tb.Context(), "mount", "-o", "remount,size="+size, d.dir).Run()
}

// noRoom is how often the server has written nothing because there was no room.
func (s *server) noRoom() int {
	s.tb.Helper()
	log, err := os.ReadFile(s.Log())
	if err != nil {
		s.tb.Fatal(err)
	}
	return bytes.Count(log, []byte("No space left on device"))
}

// fillDisk leaves the live database no room, until a projector has felt it and for a while after.
func (s *stage) fillDisk() {
	before := s.postgres.noRoom()
	s.postgres.disk.fill()
	defer s.postgres.disk.free()
	await(s.tb, "a write without room", func() bool { return s.postgres.noRoom() > before })
	s.linger()
}

// fillRebuild leaves no room in the middle of a rebuild, which gives back what it has taken.
func (s *stage) fillRebuild() {
	c := s.building()
	s.comesTo(c, s.somewhere())
	s.postgres.disk.fill()
	free := sync.OnceFunc(s.postgres.disk.free)
	defer free()
	code := c.finish()
	free()
	if code != 0 {
		if said := tail(c.log()); !strings.Contains(said, "PostgreSQL's disk is full, so what was built was dropped") {
			s.tb.Errorf("exit %d:\n%s", code, said)
		}
		if s.number("select count(*) from control.generation where state = 'building'") > 0 {
			s.tb.Error("what was built is still there")
		}
	}
	s.tb.Logf("exit %d", code)
	s.hang()
	s.verify()
}
