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

	"callboard/events/eventstest"
	"callboard/projector/rebuild"
)

// disk is a file system that the test can fill.
type disk struct {
	tb  testing.TB
	dir string
}

// diskSize is enough for all streams: NATS takes three quarters of a disk, and reserves what they may hold.
const diskSize = "8g"

// newDisk mounts a disk on a new folder, with the owner of another folder. It returns nil if the test may not mount
// one.
func newDisk(tb testing.TB, dir, ownedAs string) *disk {
	tb.Helper()
	info, err := os.Stat(ownedAs)
	if err != nil {
		tb.Fatal(err)
	}
	d := &disk{tb: tb, dir: dir}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	out, err := exec.CommandContext(tb.Context(), "mount", "-t", "tmpfs",
		"-o", fmt.Sprintf("size=%s,mode=0700,uid=%d,gid=%d", diskSize, owner.Uid, owner.Gid), "callboard", d.dir).CombinedOutput()
	if err != nil {
		tb.Logf("disk faults are left out: mount: %v: %s", err, bytes.TrimSpace(out))
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

// fill leaves no free space.
func (d *disk) fill() {
	d.tb.Helper()
	eventstest.Eventually(d.tb, "the disk is full", func() bool {
		var stat syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &stat); err != nil {
			d.tb.Fatal(err)
		}
		// The kernel refuses a size below what has been written meanwhile.
		return d.resize(strconv.FormatUint((stat.Blocks-stat.Bfree)*uint64(stat.Bsize), 10)) == nil
	})
}

// free ends [disk.fill].
func (d *disk) free() {
	d.tb.Helper()
	if err := d.resize(diskSize); err != nil {
		d.tb.Fatal(err)
	}
}

func (d *disk) resize(size string) error {
	return exec.CommandContext(d.tb.Context(), "mount", "-o", "remount,size="+size, d.dir).Run()
}

// diskFull matches what servers log when the disk is full.
const diskFull = "(?i)no space left on device"

// postgresDiskFull matches what PostgreSQL logs when its disk is full. A session for whose cache there is no space
// is refused without the cause.
const postgresDiskFull = diskFull + "|could not write init file"

// matches returns how often a log matches a pattern.
func matches(tb testing.TB, log, pattern string) int {
	tb.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		tb.Fatal(err)
	}
	return len(regexp.MustCompile(pattern).FindAllIndex(text, -1))
}

func (h *harness) diskKinds() []kind {
	if h.postgres.disk == nil || h.postgres.wal == nil || h.nats.disk == nil {
		return nil
	}
	return []kind{
		{"NATS's disk full", (*harness).fillNATS},
		{"PostgreSQL's WAL disk full", (*harness).fillWAL},
		{"PostgreSQL's disk full", (*harness).fillPostgres},
		{"PostgreSQL's disk full in a rebuild", (*harness).fillPostgresInRebuild},
	}
}

// fillPostgres fills the disk of the live database until PostgreSQL has refused a write or a session, and for a
// random time after.
func (h *harness) fillPostgres() {
	before := matches(h.tb, h.postgres.Log(), postgresDiskFull)
	h.postgres.disk.fill()
	defer h.postgres.disk.free()
	eventstest.Eventually(h.tb, "PostgreSQL refuses a write or a session", func() bool {
		return matches(h.tb, h.postgres.Log(), postgresDiskFull) > before
	})
	h.hold()
}

// fillWAL fills the disk of the write-ahead log. PostgreSQL panics, and an operator starts it again when there is
// space.
func (h *harness) fillWAL() {
	const panics = "PANIC: .*No space left on device"
	before := matches(h.tb, h.postgres.Log(), panics)
	h.postgres.wal.fill()
	defer h.postgres.wal.free()
	eventstest.Eventually(h.tb, "PostgreSQL panics", func() bool {
		_, _ = h.pool.Exec(h.tb.Context(), "select pg_switch_wal()") // it needs space then; the server may be down
		return matches(h.tb, h.postgres.Log(), panics) > before
	})
	h.hold()
	h.postgres.wal.free()
	h.killPostgres()
}

// fillNATS fills NATS's disk. A stream that couldn't store a message stores no other one until the server is
// restarted, but delivers those that it has. Without clock messages, a partition's position stays at its last
// event.
func (h *harness) fillNATS() {
	refusals := func() int { return matches(h.tb, string(h.nats.Err), diskFull) }
	before := refusals()
	h.nats.disk.fill()
	defer h.nats.disk.free()
	eventstest.Eventually(h.tb, "NATS refuses a message", func() bool { return refusals() > before })
	h.hold()
	h.awaitEvents()
	h.nats.disk.free()
	h.killNATS()
}

// fillPostgresInRebuild fills the disk at a random step of a rebuild, which drops what it has built.
func (h *harness) fillPostgresInRebuild() {
	c := h.startRebuild()
	h.awaitStep(c, h.randomStep())
	h.postgres.disk.fill()
	free := sync.OnceFunc(h.postgres.disk.free)
	defer free()
	code := c.wait()
	free()
	h.tb.Logf("exit code %d", code)
	if code != 0 {
		h.checkRebuildDropped(c)
	}
	h.installFailpoints()
	h.verify()
}

// checkRebuildDropped checks a rebuild that failed on a full disk.
func (h *harness) checkRebuildDropped(c command) {
	h.tb.Helper()
	output := c.LastOutput()
	if strings.Contains(output, "could not write init file") {
		return // PostgreSQL accepted no connection; the next rebuild resumes
	}
	switch {
	case strings.Contains(output, rebuild.ErrNotDropped.Error()): // the catalogs had no room for the drop; the command gives this advice
		c := h.startCommand("rebuild", "--abandon")
		c.mustSucceed()
	case !strings.Contains(output, rebuild.ErrDiskFull.Error()):
		h.tb.Errorf("rebuild on a full disk:\n%s", output)
	}
	if n := h.queryInt("select count(*) from control.generation where state = 'building'"); n > 0 {
		h.tb.Errorf("generations in state building = %d, want 0", n)
	}
}
