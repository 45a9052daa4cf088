package fault_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/schema/schematest"
)

// foldResult is the result of folding the whole stream in memory, one message after the other.
type foldResult struct {
	states      []*fold.State // by partition
	clocks      []fold.Clock
	counts      map[countKey]messageCount
	adjustments map[adjustmentKey]events.Time
	dead        map[uint64]string // by sequence: the reason
	poisons     map[uint64]string // by sequence: the kind
	messages    int
}

type adjustmentKey struct {
	partition int
	sequence  uint64
}

type countKey struct {
	Partition int
	Entity    string
}

// messageCount is a row of projection.message_count.
type messageCount struct {
	Read, Applied, Stale, Ignored, Dead, Conflicting int64
}

// foldConsumer is the prefix of the name of the check's own consumers.
const foldConsumer = "check"

// foldStream folds the stream as it is now.
func (h *harness) foldStream() *foldResult {
	h.tb.Helper()
	f := &foldResult{
		clocks: make([]fold.Clock, partitions), counts: map[countKey]messageCount{}, adjustments: h.clockAdjustments(),
		dead: map[uint64]string{}, poisons: map[uint64]string{},
	}
	for partition := range partitions {
		f.states = append(f.states, &fold.State{Partition: int16(partition)})
	}
	stream := h.stream()
	last := stream.CachedInfo().State.LastSeq
	consumer, err := stream.OrderedConsumer(h.tb.Context(), jetstream.OrderedConsumerConfig{NamePrefix: foldConsumer})
	if err != nil {
		h.tb.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		h.tb.Fatal(err)
	}
	defer messages.Stop()
	for f.messages < int(last) { // no message is ever deleted
		m, err := messages.Next(jetstream.NextMaxWait(time.Minute))
		if err != nil {
			h.tb.Fatal(err)
		}
		f.add(h, m)
	}
	return f
}

func (f *foldResult) add(h *harness, m jetstream.Msg) {
	h.tb.Helper()
	meta, err := m.Metadata()
	if err != nil {
		h.tb.Fatal(err)
	}
	f.messages++
	stored := events.Stored(m, meta)
	if stored.Subject == events.ClockSubject {
		return // what it moved is recorded as a clock adjustment
	}
	partition, err := strconv.Atoi(strings.Split(stored.Subject, ".")[1])
	if err != nil {
		h.tb.Fatal(err)
	}
	if kind := stored.Header.Get(poisonHeader); kind != "" {
		f.poisons[stored.Sequence] = kind
	}
	adjustment := f.adjustments[adjustmentKey{partition, stored.Sequence}]
	f.clocks[partition].Advance(stored.Sequence, events.TimeOf(stored.StoredAt), map[uint64]events.Time{stored.Sequence: adjustment})
	outcome, err := f.apply(h, partition, stored.Message)
	if err != nil {
		f.dead[stored.Sequence] = err.Error()
	}
	f.count(partition, stored.Subject, outcome)
}

// apply returns an error if the message can't be applied.
func (f *foldResult) apply(h *harness, partition int, m events.Message) (fold.Outcome, error) {
	h.tb.Helper()
	e, err := events.Decode(m)
	if err != nil {
		return 0, err
	}
	if transcript, ok := e.State.(*events.Transcript); ok {
		invalid, err := events.FetchBodies(h.tb.Context(), h.js, []*events.Transcript{transcript})
		if err != nil {
			h.tb.Fatal(err)
		}
		if invalid[0] != nil {
			return 0, invalid[0]
		}
	}
	return f.states[partition].Fold(e, f.clocks[partition].Now)
}

// count counts a message under the entity of its subject.
func (f *foldResult) count(partition int, subject string, outcome fold.Outcome) {
	entity := subject[strings.LastIndexByte(subject, '.')+1:]
	if !slices.Contains(events.Entities(), events.Entity(entity)) {
		entity = "unknown"
	}
	key := countKey{partition, entity}
	c := f.counts[key]
	c.Read++
	switch outcome {
	case fold.Applied:
		c.Applied++
	case fold.Stale:
		c.Stale++
	case fold.Conflicting:
		c.Stale++
		c.Conflicting++
	case fold.Ignored:
		c.Ignored++
	default:
		c.Dead++
	}
	f.counts[key] = c
}

func (h *harness) clockAdjustments() map[adjustmentKey]events.Time {
	h.tb.Helper()
	rows, _ := h.pool.Query(h.tb.Context(), "select partition, sequence, clock from control.clock_adjustment where stream = $1", h.streamID())
	adjustments := map[adjustmentKey]events.Time{}
	var key adjustmentKey
	var at time.Time
	_, err := pgx.ForEachRow(rows, []any{&key.partition, &key.sequence, &at}, func() error {
		adjustments[key] = events.TimeOf(at)
		return nil
	})
	if err != nil {
		h.tb.Fatal(err)
	}
	return adjustments
}

// compareFold compares the tables with the fold: the number of rows of each, the updatedAt of calls, dead letters and message counts.
func (h *harness) compareFold(f *foldResult, tables schematest.Tables) {
	h.tb.Helper()
	counts := f.rowCounts()
	for name, rows := range tables {
		if want, known := counts[name]; known && len(rows) != want {
			h.tb.Errorf("%s: rows = %d, want %d", name, len(rows), want)
		} else if !known && name != "message_count" {
			h.tb.Errorf("%s: the fold doesn't count its rows", name)
		}
	}
	h.compareCalls(f)
	h.compareDeadLetters(f)
	h.compareMessageCounts(f)
}

// rowCounts returns the number of rows of each table.
func (f *foldResult) rowCounts() map[string]int {
	counts := map[string]int{}
	for _, state := range f.states {
		global := 0
		if state.Directories[uuid.Nil] != 0 {
			global = 1
		}
		for name, n := range map[string]int{
			"phone_system": rowCount(&state.PhoneSystems), "phone_system_group": rowCount(&state.Groups),
			"phone_system_group_member": rowCount(&state.GroupMembers), "extension": rowCount(&state.Extensions),
			"phone": rowCount(&state.Phones), "phone_number": rowCount(&state.PhoneNumbers), "agent_config": rowCount(&state.AgentConfigs),
			"call_group": rowCount(&state.CallGroups), "call_menu": rowCount(&state.CallMenus), "representative": rowCount(&state.Representatives),
			"classification": rowCount(&state.Classifications), "call_log": rowCount(&state.CallLogs), "extension_call": rowCount(&state.ExtensionCalls),
			"transcript": rowCount(&state.Transcripts), "transcript_text": rowCount(&state.TranscriptTexts), "recording": rowCount(&state.Recordings),
			"analysis": rowCount(&state.Analyses), "extension_analysis": rowCount(&state.ExtensionAnalyses), "voicemail": rowCount(&state.Voicemails),
			"tombstone": rowCount(&state.Tombstones), "day_count": nonZero(state.Counts),
			"reference_count": nonZero(state.References),
			"directory":       nonZero(state.Directories) - global, "global_directory": global,
		} {
			counts[name] += n
		}
	}
	return counts
}

// rowCount returns the number of rows of a table that was empty at first.
func rowCount[K, R comparable](t *fold.Table[K, R]) int {
	rows, _ := t.Changes()
	return len(rows)
}

func nonZero[K comparable](t fold.Deltas[K]) int {
	n := 0
	for _, count := range t {
		if count != 0 {
			n++
		}
	}
	return n
}

func (h *harness) compareCalls(f *foldResult) {
	h.tb.Helper()
	want := map[string]time.Time{}
	for _, state := range f.states {
		rows, _ := state.CallLogs.Changes()
		for _, row := range rows {
			want[row.System.String()+"/"+row.ID.String()] = row.UpdatedAt.Std().UTC()
		}
	}
	got := h.versions("select system_id || '/' || id, updated_at from projection.call_log")
	if maps.EqualFunc(got, want, time.Time.Equal) {
		return
	}
	wrong := 0
	for id, at := range want {
		if got[id].Equal(at) {
			continue
		}
		if wrong++; wrong <= 3 {
			h.tb.Errorf("call %s: updated_at = %s, want %s", id, got[id], at)
		}
	}
	h.tb.Errorf("calls with another updated_at than the fold's = %d of %d, want none; calls = %d", wrong, len(want), len(got))
}

// compareDeadLetters checks that every poison message is a dead letter, once, and that no other message is.
func (h *harness) compareDeadLetters(f *foldResult) {
	h.tb.Helper()
	got := map[uint64]string{}
	rows, _ := h.pool.Query(h.tb.Context(), "select sequence, reason from control.dead_letter where stream = $1", h.streamID())
	var sequence int64
	var reason string
	_, err := pgx.ForEachRow(rows, []any{&sequence, &reason}, func() error {
		if _, twice := got[uint64(sequence)]; twice {
			h.tb.Errorf("message %d has two dead letters, want one", sequence)
		}
		got[uint64(sequence)] = reason
		return nil
	})
	if err != nil {
		h.tb.Fatal(err)
	}
	for sequence, kind := range f.poisons {
		if got[sequence] == "" {
			h.tb.Errorf("message %d (%s) has no dead letter", sequence, kind)
		}
	}
	for _, sequence := range slices.Sorted(maps.Keys(got)) {
		if f.poisons[sequence] == "" {
			h.tb.Errorf("message %d is a dead letter, but no poison message: %s", sequence, got[sequence])
		}
		if f.dead[sequence] == "" {
			h.tb.Errorf("message %d is a dead letter (%s), but the fold applies it", sequence, got[sequence])
		}
	}
	if len(f.dead) != len(got) {
		h.tb.Errorf("dead letters = %d, want %d", len(got), len(f.dead))
	}
}

func (h *harness) compareMessageCounts(f *foldResult) {
	h.tb.Helper()
	rows, _ := h.pool.Query(h.tb.Context(), "select partition, entity, read, applied, stale, ignored, dead, conflicting from projection.message_count")
	got := map[countKey]messageCount{}
	var key countKey
	var c messageCount
	into := []any{&key.Partition, &key.Entity, &c.Read, &c.Applied, &c.Stale, &c.Ignored, &c.Dead, &c.Conflicting}
	if _, err := pgx.ForEachRow(rows, into, func() error { got[key] = c; return nil }); err != nil {
		h.tb.Fatal(err)
	}
	for key, c := range got {
		if c.Read != c.Applied+c.Stale+c.Ignored+c.Dead {
			h.tb.Errorf("message_count of %+v = %+v: read is not the sum of the others", key, c)
		}
	}
	if !maps.Equal(got, f.counts) {
		h.tb.Errorf("message_count = %+v, want %+v", got, f.counts)
	}
}
