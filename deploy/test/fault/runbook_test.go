package fault_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/rebuild"
)

const (
	procedures = "../../procedures.md"
	successor  = "PHONES2" // the stream that takes the place of the first one

	// natsURLVariable makes the test binary do what the command nats does.
	natsURLVariable = "CALLBOARD_TEST_NATS_URL"
)

// runbook runs the shell blocks of a section of deploy/procedures.md, one after the other.
type runbook struct {
	*harness
	dir    string // of the files that the blocks write
	blocks []string
}

func (h *harness) openRunbook(heading string) *runbook {
	h.tb.Helper()
	text, err := os.ReadFile(procedures)
	if err != nil {
		h.tb.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		h.tb.Fatalf("%s has no section %q", procedures, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	r := &runbook{harness: h, dir: h.tb.TempDir()}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
		r.blocks = append(r.blocks, block[1])
	}

	// What the blocks call nats is the test binary.
	command := fmt.Sprintf("#!/bin/sh\n%s=nats://%s exec %s \"$@\"\n", natsURLVariable, h.nats.address, os.Args[0])
	if err := os.WriteFile(filepath.Join(r.dir, "nats"), []byte(command), 0o700); err != nil { //nolint:gosec // a program
		h.tb.Fatal(err)
	}
	return r
}

// try runs a block and returns what it prints.
func (r *runbook) try(block string) (printed []byte, err error) {
	cmd := exec.CommandContext(r.tb.Context(), "bash", "-euo", "pipefail", "-c", block) //nolint:gosec // the project's own runbook
	cmd.Dir, cmd.Stderr = r.dir, os.Stderr
	cmd.Env = append(os.Environ(), "PATH="+r.dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return cmd.Output()
}

// next runs the next block and returns the answer to its last request.
func (r *runbook) next() (answer streamAnswer) {
	r.tb.Helper()
	block := r.blocks[0]
	r.blocks = r.blocks[1:]
	printed, err := r.try(block)
	if err != nil {
		r.tb.Fatalf("%v:\n%s%s", err, block, printed)
	}
	for decoder := json.NewDecoder(bytes.NewReader(printed)); decoder.More(); {
		answer = streamAnswer{}
		if err := decoder.Decode(&answer); err != nil || answer.Error != nil {
			r.tb.Fatalf("%v:\n%s%s", err, block, printed)
		}
	}
	return answer
}

// streamAnswer is an answer of JetStream.
type streamAnswer struct {
	Error    any    `json:"error"`
	Sequence uint64 `json:"seq"` // of a message that was stored
}

// sendRequest is 'nats req SUBJECT BODY', whatever the flags are. It prints the answer, and returns the exit code.
func sendRequest(url string, args []string) int {
	args = slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--") })
	answer, err := func() ([]byte, error) {
		if len(args) != 3 || args[0] != "req" {
			return nil, fmt.Errorf("unknown command: nats %v", args)
		}
		conn, err := nats.Connect(url)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		m, err := conn.Request(args[1], []byte(args[2]), time.Minute)
		if err != nil {
			return nil, err
		}
		return m.Data, nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(string(answer))
	return 0
}

// useStream restarts the projectors with another stream, and makes commands use it.
func (h *harness) useStream(name string) {
	h.tb.Helper()
	h.streamName = name
	settings := map[string]string{"CALLBOARD_STREAM": name}
	h.operator = h.newOperator(settings)
	for i, p := range h.projectors {
		p.StopCleanly(os.Interrupt)
		env := h.env(h.natsProxies.projectors, h.postgresProxies.projectors, projectorRole)
		maps.Copy(env, settings)
		h.projectors[i] = newProcess(h.tb, "projector", p.Name(), env)
		h.projectors[i].Start()
	}
}

// A mirror takes the stream's place, as the runbook says, on three NATS servers and under load. Strict clients
// notice nothing: those that walk by updatedAt miss no row. Then the former stream is deleted.
func TestRunbook_MoveStream(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	h := newClusterHarness(t, seed(t), bursty)
	r := h.openRunbook("Move the stream")
	c := h.startStrictClients()
	h.awaitApplied(settleMessages)

	r.next() // the mirror
	last := r.next().Sequence
	eventstest.Eventually(t, "the mirror has the last message", func() bool {
		mirror, err := h.js.Stream(t.Context(), successor)
		return err == nil && mirror.CachedInfo().State.LastSeq == last
	})
	r.next() // promoted
	h.useStream(successor)
	h.awaitApplied(settleMessages)
	h.startCommand("stream", "check").mustSucceed()
	if err := h.js.DeleteStream(t.Context(), events.StreamName); err != nil {
		t.Fatal(err)
	}

	h.awaitApplied(settleMessages)
	h.load.stop()
	c.finish()
	h.verify()
	h.checkNothingLeft(true)
	h.logSummary()
}

// A stream with another number of partitions takes the stream's place, as the runbook says, on three NATS servers
// and under load. Strict clients that walk by updatedAt miss no row, and no watermark goes back.
func TestRunbook_MorePartitions(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	t.Parallel()
	h := newClusterHarness(t, seed(t), bursty)
	r := h.openRunbook("Change the number of partitions")
	c := h.startStrictClients()
	h.awaitApplied(settleMessages)

	r.next() // the copy
	var result rebuild.Result
	h.command(&result, "rebuild", "--stream", successor)
	if !result.NewHistory {
		t.Errorf("rebuild = %+v, want a new history", result)
	}
	h.useStream(successor)
	h.awaitApplied(settleMessages)

	r.next() // the end of the former stream
	find := r.blocks[0]
	r.blocks = slices.Delete(r.blocks, 0, 1)
	eventstest.Eventually(t, "the copy has the last message", func() bool {
		printed, err := r.try(find)
		var answer streamAnswer
		return err == nil && json.Unmarshal(printed, &answer) == nil && answer.Error == nil
	})
	r.next() // opened
	h.awaitApplied(settleMessages)
	h.startCommand("stream", "check").mustSucceed()
	if err := h.js.DeleteStream(t.Context(), events.StreamName); err != nil {
		t.Fatal(err)
	}

	h.awaitApplied(settleMessages)
	h.load.stop()
	c.finish()
	h.verify()
	h.checkNothingLeft(true)
	h.logSummary()
}
