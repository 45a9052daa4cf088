package rebuild_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"callboard/projector/rebuild"
)

// firstRead returns how much of the stream a rebuild had when it began to read, and how much it needed.
func (h *harness) firstRead() (had, needed int64) {
	h.Helper()
	had = -1
	h.rebuild(smallParts, func(c *rebuild.Config) {
		c.Progress = func(p rebuild.Progress) {
			if p.Step == rebuild.StepRead && had < 0 {
				had, needed = p.Done, p.Total
			}
		}
	})
	return had, needed
}

func TestRun_ReadsTheStreamOnce(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(11, 60))
	if had, needed := h.firstRead(); had != 0 || needed == 0 {
		t.Errorf("read before = %d of %d, want 0", had, needed)
	}
	h.killRebuild(rebuild.StepFold, 50)
	if had, needed := h.firstRead(); had < needed {
		t.Errorf("read before, after a kill while folding = %d of %d, want all", had, needed)
	}
	h.killRebuild(rebuild.StepFold, 50)
	if err := os.RemoveAll(h.spool); err != nil {
		t.Fatal(err)
	}
	if had, needed := h.firstRead(); had != 0 {
		t.Errorf("read before, after a kill and the loss of the files = %d of %d, want 0", had, needed)
	}
	h.requireVerified("after the loss of the files")
}

// mountSmall mounts a file system on the folder of spools. It skips the test where it may not.
func (h *harness) mountSmall(size string) {
	h.Helper()
	out, err := exec.CommandContext(h.Context(), "mount", "-t", "tmpfs", "-o", "size="+size, "callboard", h.spool).CombinedOutput()
	if err != nil {
		h.Skipf("mount: %v: %s", err, out)
	}
	h.Cleanup(func() {
		if err := syscall.Unmount(h.spool, 0); err != nil {
			h.Error(err)
		}
	})
}

// requireSpoolFull rebuilds and requires that the spool has no room and is deleted.
func (h *harness) requireSpoolFull(when string, change ...func(*rebuild.Config)) {
	h.Helper()
	config := h.config()
	for _, apply := range change {
		apply(&config)
	}
	if _, err := rebuild.Run(h.Context(), config, false); !errors.Is(err, rebuild.ErrSpoolFull) {
		h.Errorf("%s: error = %v, want %v", when, err, rebuild.ErrSpoolFull)
	}
	left, err := filepath.Glob(filepath.Join(h.spool, "callboard-*"))
	if err != nil || len(left) > 0 {
		h.Errorf("%s: left = %v, %v, want nothing", when, left, err)
	}
}

func TestRun_SpoolFull(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(13, 100))
	h.mountSmall("8m")
	filler := filepath.Join(h.spool, "filler")
	fill := func() {
		file, err := os.Create(filler)
		for err == nil {
			_, err = file.Write(make([]byte, 64<<10))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	h.requireSpoolFull("filled while reading", onStep(rebuild.StepRead, fill))
	h.requireSpoolFull("full from the beginning")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	h.requireRebuilt()
}
