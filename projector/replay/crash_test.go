package replay_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"callboard/projector/replay"
	"callboard/projector/store"
)

// With this variable, the test binary spools a company's history into a folder.
const childFolder = "CALLBOARD_TEST_SPOOL"

const (
	childSlots     = 3
	childBatch     = 50 // messages
	childKills     = 6
	checkpointEach = 2 // batches, so that few processes are killed before the first checkpoint
)

func childHistory(t failer) history { return companyHistory(t, 2, 300, 2) }

// child fails a process as a test.
type child struct{}

func (child) Helper()                          {}
func (c child) Fatalf(format string, a ...any) { c.Fatal(fmt.Sprintf(format, a...)) }
func (child) Fatal(args ...any)                { fmt.Fprintln(os.Stderr, args...); os.Exit(1) }

// runChild spools a batch for each byte of its input, and prints the spool's sequence after each.
func runChild() int {
	h := childHistory(child{})
	s := openSpool(child{}, os.Getenv(childFolder), h.plan(childSlots))
	fmt.Println("from", s.Sequence())
	batches, permits := 0, bufio.NewReader(os.Stdin)
	for rest := h.messages[s.Sequence():]; len(rest) > 0; rest = rest[min(childBatch, len(rest)):] {
		if _, err := permits.ReadByte(); err != nil {
			child{}.Fatal(err)
		}
		if err := s.Append(rest[:min(childBatch, len(rest))]); err != nil {
			child{}.Fatal(err)
		}
		if batches++; batches%checkpointEach == 0 {
			if err := s.Checkpoint(); err != nil {
				child{}.Fatal(err)
			}
		}
		fmt.Println(s.Sequence())
	}
	if err := s.Checkpoint(); err != nil {
		child{}.Fatal(err)
	}
	return 0
}

// killChild kills a process that spools after some batches, in the middle of whatever it does: it may spool three more, and can't end before
// the kill while more are left. It returns where the process began, and whether it had ended before.
func killChild(t *testing.T, dir string, batches int) (from string, ended bool) {
	t.Helper()
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), childFolder+"="+dir)
	process.Stderr = os.Stderr
	permits, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = permits.Write(bytes.Repeat([]byte("."), batches+3)) // a process that has nothing left to spool may have ended
	lines := bufio.NewScanner(out)
	lines.Scan()
	from = lines.Text()
	for ; batches > 0 && lines.Scan(); batches-- {
		continue
	}
	_ = process.Process.Kill()
	return from, process.Wait() == nil
}

func TestReplay_GivesTheSameRowsAfterKills(t *testing.T) {
	t.Parallel()
	c, dir := readCatalog(t), t.TempDir()
	h := childHistory(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	killed, resumed := 0, 0
	for range childKills {
		from, ended := killChild(t, dir, random.IntN(len(h.messages)/childBatch/2))
		if from != "from 0" {
			resumed++
		}
		if ended {
			break
		}
		killed++
	}
	t.Logf("seed %d: killed processes = %d", seed, killed)
	if killed == 0 {
		t.Fatal("the first process ended before it was killed")
	}
	from, ended := killChild(t, dir, len(h.messages))
	if !ended {
		t.Fatal("the last process was killed, want it to end by itself")
	}
	if from != "from 0" {
		resumed++
	}
	if resumed == 0 {
		t.Error("each process began at 0, want one to continue where another was killed")
	}
	got := newResult()
	s := openSpool(t, dir, h.plan(childSlots))
	for _, p := range h.plan(childSlots).Parts {
		f := s.Fold(p.PartID, replay.Folding{Catalog: c, Memory: 1 << 20})
		if err := f.UpTo(t.Context(), h.last(), store.Decisions{}); err != nil {
			t.Fatal(err)
		}
		got.add(t, f.Changes(), f.Rows())
	}
	if lines := got.differences(h.want(t, c, store.ReadingOrder)); len(lines) > 0 {
		t.Fatal(strings.Join(lines, "\n"))
	}
}
