package run_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"callboard/internal/run"
)

// A terminal has colors, and not with TERM=dumb or NO_COLOR. A file has none.
func TestHasColors(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/output")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	pty := openTerminal(t)
	for _, c := range []struct {
		name          string
		output        *os.File
		term, noColor string
		is, hasColors bool
	}{
		{"terminal", pty, "xterm", "", true, true},
		{"terminal with NO_COLOR", pty, "xterm", "1", true, false},
		{"dumb terminal", pty, "dumb", "", false, false},
		{"file", file, "xterm", "", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TERM", c.term)
			t.Setenv("NO_COLOR", c.noColor)
			if is, colors := run.IsTerminal(c.output), run.HasColors(c.output); is != c.is || colors != c.hasColors {
				t.Errorf("is a terminal = %t, has colors = %t, want %t and %t", is, colors, c.is, c.hasColors)
			}
		})
	}
}

// openTerminal returns a pseudo-terminal of 80 columns.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	leader, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leader.Close() })
	var number, unlocked int32
	control(t, leader, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	control(t, leader, syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(t, leader, syscall.TIOCSWINSZ, unsafe.Pointer(&[4]uint16{24, 80}))
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return terminal
}

func control(t *testing.T, f *os.File, request uintptr, argument unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(argument)); errno != 0 {
		t.Fatalf("ioctl %#x: %v", request, errno)
	}
}
