package fault_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// disk is a file system of its own, which has room for what a server writes there or none at all.
type disk struct {
	tb  testing.TB
	dir string
}

// newDisk mounts a disk on a new folder, for the owner of another one. It is nil where nothing may be mounted.
func newDisk(tb testing.TB, dir, like string) *disk {
	tb.Helper()
	info, err := os.Stat(like)
	if err != nil {
		tb.Fatal(err)
	}
	d := &disk{tb: tb, dir: dir}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	out, err := exec.CommandContext(tb.Context(), "mount", "-t", "tmpfs",
		"-o", fmt.Sprintf("size=%s,mode=0700,uid=%d,gid=%d", roomy, owner.Uid, owner.Gid), "callboard", d.dir).CombinedOutput()
	if err != nil {
		tb.Logf("no disk will be full: mount: %v: %s", err, bytes.TrimSpace(out))
		if err := os.Remove(d.dir); err != nil {
			tb.Fatal(err)
		}
		return nil
	}
	tb.Cleanup(func() {
		if err := errors.Join(syscall.Unmount(d.dir, 0), os.Remove(d.dir)); err != nil {
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

// noRoom is what servers say when there was no room for what they would write.
const noRoom = "(?i)no space left on device"

// count is how often a log matches.
func count(tb testing.TB, log, pattern string) int {
	tb.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		tb.Fatal(err)
	}
	return len(regexp.MustCompile(pattern).FindAllIndex(text, -1))
}

// fillDisk leaves the live database no room, until a projector has felt it and for a while after.
func (s *stage) fillDisk() {
	before := count(s.tb, s.postgres.Log(), noRoom)
	s.postgres.disk.fill()
	defer s.postgres.disk.free()
	await(s.tb, "a write without room", func() bool { return count(s.tb, s.postgres.Log(), noRoom) > before })
	s.linger()
}

// fillWAL leaves PostgreSQL no room for its log, of which it dies; who makes room starts it again.
func (s *stage) fillWAL() {
	const panics = "PANIC: .*No space left on device"
	before := count(s.tb, s.postgres.Log(), panics)
	s.postgres.wal.fill()
	defer s.postgres.wal.free()
	await(s.tb, "a server that can't log what it does", func() bool {
		_, _ = s.pool.Exec(s.tb.Context(), "select pg_switch_wal()") // the sooner it needs room; it may be dying
		return count(s.tb, s.postgres.Log(), panics) > before
	})
	s.linger()
	s.postgres.wal.free()
	s.stopPostgres()
}

// fillNATS leaves NATS no room. A stream that couldn't store a message stores no other one until the server is started again, and
// gives what it has to whoever reads.
func (s *stage) fillNATS() {
	s.nats.disk.fill()
	defer s.nats.disk.free()
	await(s.tb, "a message without room", func() bool { return count(s.tb, s.nats.log(), noRoom) > 0 })
	s.linger()
	s.caughtUp()
	s.nats.disk.free()
	s.killNATS()
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
