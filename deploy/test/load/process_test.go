//go:build linux

package load_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"callboard/deploy/test/programtest"
)

// programs are built once for all tests of a run.
//
//nolint:gochecknoglobals // what is built is the same for all tests
var programs = programtest.New(
	"callboard/cmd/callboard", "callboard/cmd/projector", "callboard/cmd/readapi", "callboard/cmd/webhooks", "github.com/nats-io/nats-server/v2",
)

type process = programtest.Process

// startProcess starts a process, which runs until the test ends.
func startProcess(tb testing.TB, name, path string, env map[string]string, args ...string) *process {
	tb.Helper()
	p := programtest.NewProcess(tb, name, path, env)
	p.Start(args...)
	return p
}

// cpuTime returns the processor time that a process and its children have used since its start.
func cpuTime(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	stat, ok := readStat(pid)
	if !ok {
		tb.Fatalf("process %d has exited", pid)
	}
	ticks := stat.own + stat.reaped
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		tb.Fatal(err)
	}
	for _, entry := range entries {
		child, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}
		if s, ok := readStat(child); ok && s.parent == pid {
			ticks += s.own + s.reaped
		}
	}
	const ticksPerSecond = 100 // USER_HZ is 100 on all platforms that Go supports
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// procStat is what /proc/PID/stat says. Times are in ticks.
type procStat struct {
	parent      int
	own, reaped int64 // of the process, and of its children that have exited
}

// readStat returns false for a process that has exited.
func readStat(pid int) (s procStat, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, false
	}
	// The second field is the program's name in parentheses, which may contain spaces.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	number := func(field int) int64 { // as proc(5) numbers the fields
		n, _ := strconv.ParseInt(fields[field-3], 10, 64) // the kernel's format
		return n
	}
	return procStat{parent: int(number(4)), own: number(14) + number(15), reaped: number(16) + number(17)}, true
}

// memory returns the resident memory of a process and its maximum, in MiB.
func memory(p *process) (now, highest int64) {
	p.Helper()
	now, ok := readMemory(p.PID(), "VmRSS")
	if ok {
		highest, ok = readMemory(p.PID(), "VmHWM")
	}
	if !ok {
		p.Fatalf("no memory in the status of %s", p.Name())
	}
	return now, highest
}

// readMemory returns a value of /proc/PID/status in MiB; false: the process has exited.
func readMemory(pid int, name string) (mib int64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	match := regexp.MustCompile(name + `:\s*(\d+) kB`).FindSubmatch(text)
	if match == nil {
		return 0, false
	}
	n, _ := strconv.ParseInt(string(match[1]), 10, 64) // it has digits only
	return n >> 10, true
}

// watchMemory returns a function that ends the watch of a process, and returns its maximum of resident memory in
// MiB. When a child exits, Linux tells the maximum of its parent where that is higher.
func watchMemory(pid int) (end func() int64) {
	const interval = 20 * time.Millisecond
	ended, highest := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		var last int64
		for {
			select {
			case <-ended:
				highest <- last
				return
			case <-tick.C:
				if mib, ok := readMemory(pid, "VmHWM"); ok {
					last = mib
				}
			}
		}
	}()
	return func() int64 {
		close(ended)
		return <-highest
	}
}
