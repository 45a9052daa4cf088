package fault_test

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/schema/schematest"
)

// folded is what a pure fold makes of the whole stream, in memory, message by message.
type folded struct {
	states      []*fold.State // by partition
	clocks      []fold.Clock
	covered     map[coverageKey]coverage
	adjustments map[adjustmentKey]events.Time
	dead        map[uint64]string // by sequence: the reason
	poisons     map[uint64]string // by sequence: the kind
	messages    int
}

type adjustmentKey struct {
	partition int
	sequence  uint64
}

// verdict is what the names of the test's own consumers begin with.
const verdict = "verdict"

// foldAll folds the stream as it is.
func (s *stage) foldAll() *folded {
	s.tb.Helper()
	f := &folded{
		clocks: make([]fold.Clock, partitions), covered: map[coverageKey]coverage{}, adjustments: s.recordedAdjustments(),
		dead: map[uint64]string{}, poisons: map[uint64]string{},
	}
	for partition := range partitions {
		f.states = append(f.states, &fold.State{Partition: int16(partition)})
	}
	stream := s.stream()
	last := stream.CachedInfo().State.LastSeq
	consumer, err := stream.OrderedConsumer(s.tb.Context(), jetstream.OrderedConsumerConfig{NamePrefix: verdict})
	if err != nil {
		s.tb.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		s.tb.Fatal(err)
	}
	defer messages.Stop()
	for f.messages < int(last) { // nothing is ever deleted
		m, err := messages.Next(jetstream.NextMaxWait(patience))
		if err != nil {
			s.tb.Fatal(err)
		}
		f.message(s, m)
	}
	return f
}

func (f *folded) message(s *stage, m jetstream.Msg) {
	s.tb.Helper()
	meta, err := m.Metadata()
	if err != nil {
		s.tb.Fatal(err)
	}
	partition, err := strconv.Atoi(strings.Split(m.Subject(), ".")[1])
	if err != nil {
		s.tb.Fatal(err)
	}
	f.messages++
	sequence := meta.Sequence.Stream
	if kind := m.Headers().Get(poisonHeader); kind != "" {
		f.poisons[sequence] = kind
	}
	clock := &f.clocks[partition]
	adjustment := f.adjustments[adjustmentKey{partition, sequence}]
	clock.Advance(sequence, events.TimeOf(meta.Timestamp), map[uint64]events.Time{sequence: adjustment})
	outcome, err := f.apply(s, partition, m)
	if err != nil {
		f.dead[sequence] = err.Error()
	}
	f.cover(partition, m.Subject(), outcome)
}

// apply is zero and the reason where the message can't be applied.
func (f *folded) apply(s *stage, partition int, m jetstream.Msg) (fold.Outcome, error) {
	e, err := events.Decode(events.Message{Subject: m.Subject(), Header: m.Headers(), Data: m.Data()})
	if err != nil {
		return 0, err
	}
	if transcript, ok := e.State.(*events.Transcript); ok {
		err := events.FetchBody(s.tb.Context(), s.js, transcript)
		if invalid := (*events.InvalidError)(nil); errors.As(err, &invalid) {
			return 0, err
		}
		if err != nil {
			s.tb.Fatal(err)
		}
	}
	return f.states[partition].Fold(e, f.clocks[partition].Now)
}

func (s *stage) recordedAdjustments() map[adjustmentKey]events.Time {
	s.tb.Helper()
	rows, err := s.pool.Query(s.tb.Context(), "select partition, sequence, clock from control.clock_adjustment where stream_created = $1", s.created())
	if err != nil {
		s.tb.Fatal(err)
	}
	adjustments := map[adjustmentKey]events.Time{}
	var key adjustmentKey
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&key.partition, &key.sequence, &at}, func() error {
		adjustments[key] = events.TimeOf(at)
		return nil
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	return adjustments
}

// compare holds the tables against the fold: how many rows each has, when each call changed, what is dead and what was covered.
func (f *folded) compare(s *stage, tables schematest.Tables) {
	s.tb.Helper()
	counts := f.counts()
	for name, rows := range tables {
		if want, known := counts[name]; known && len(rows) != want {
			s.tb.Errorf("%s has %d rows, and a pure fold %d", name, len(rows), want)
		} else if !known && name != "message_count" {
			s.tb.Errorf("a pure fold doesn't say how many rows %s has", name)
		}
	}
	f.compareCalls(s)
	f.compareDead(s)
	f.compareCoverage(s)
}

// counts are how many rows each table has.
func (f *folded) counts() map[string]int {
	counts := map[string]int{}
	for _, state := range f.states {
		for name, n := range map[string]int{
			"phone_system": rowsOf(&state.PhoneSystems), "phone_system_group": rowsOf(&state.Groups), "extension": rowsOf(&state.Extensions),
			"phone": rowsOf(&state.Phones), "phone_number": rowsOf(&state.PhoneNumbers), "agent_config": rowsOf(&state.AgentConfigs),
			"call_group": rowsOf(&state.CallGroups), "call_menu": rowsOf(&state.CallMenus), "representative": rowsOf(&state.Representatives),
			"classification": rowsOf(&state.Classifications), "call_log": rowsOf(&state.CallLogs), "extension_call": rowsOf(&state.ExtensionCalls),
			"transcript": rowsOf(&state.Transcripts), "transcript_text": rowsOf(&state.TranscriptTexts), "recording": rowsOf(&state.Recordings),
			"analysis": rowsOf(&state.Analyses), "extension_analysis": rowsOf(&state.ExtensionAnalyses), "voicemail": rowsOf(&state.Voicemails),
			"tombstone": rowsOf(&state.Tombstones), "day_count": counted(state.Counts), "reference_count": counted(state.References),
		} {
			counts[name] += n
		}
	}
	return counts
}

// rowsOf is how many rows a table has that began empty.
func rowsOf[K, R comparable](t *fold.Table[K, R]) int {
	rows, _ := t.Changes()
	return len(rows)
}

func counted[K comparable](t fold.Deltas[K]) int {
	n := 0
	for _, count := range t {
		if count != 0 {
			n++
		}
	}
	return n
}

func (f *folded) compareCalls(s *stage) {
	s.tb.Helper()
	want := map[string]events.Time{}
	for _, state := range f.states {
		rows, _ := state.CallLogs.Changes()
		for _, row := range rows {
			want[row.System.String()+"/"+row.ID.String()] = row.UpdatedAt
		}
	}
	rows, err := s.pool.Query(s.tb.Context(), "select system_id || '/' || id, updated_at from projection.call_log")
	if err != nil {
		s.tb.Fatal(err)
	}
	var key string
	var at time.Time
	got := map[string]events.Time{}
	if _, err = pgx.ForEachRow(rows, []any{&key, &at}, func() error { got[key] = events.TimeOf(at); return nil }); err != nil {
		s.tb.Fatal(err)
	}
	if maps.Equal(got, want) {
		return
	}
	wrong := 0
	for key, at := range want {
		if got[key] == at {
			continue
		}
		if wrong++; wrong <= 3 {
			s.tb.Errorf("call %s changed at %s, and by a pure fold at %s", key, got[key], at)
		}
	}
	s.tb.Errorf("%d of %d calls changed at other times than by a pure fold", wrong, len(want))
}

// compareDead: what is poison is dead, and nothing else; and every dead letter is kept once.
func (f *folded) compareDead(s *stage) {
	s.tb.Helper()
	kept := map[uint64]string{}
	rows, err := s.pool.Query(s.tb.Context(), "select sequence, reason from control.dead_letter where stream_created = $1", s.created())
	if err != nil {
		s.tb.Fatal(err)
	}
	var sequence int64
	var reason string
	_, err = pgx.ForEachRow(rows, []any{&sequence, &reason}, func() error {
		if _, twice := kept[uint64(sequence)]; twice {
			s.tb.Errorf("dead letter %d is kept twice", sequence)
		}
		kept[uint64(sequence)] = reason
		return nil
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	for sequence, kind := range f.poisons {
		if kept[sequence] == "" {
			s.tb.Errorf("message %d (%s) is no dead letter", sequence, kind)
		}
	}
	for _, sequence := range slices.Sorted(maps.Keys(kept)) {
		if f.poisons[sequence] == "" {
			s.tb.Errorf("message %d is a dead letter: %s", sequence, kept[sequence])
		}
		if f.dead[sequence] == "" {
			s.tb.Errorf("message %d is a dead letter (%s), and a pure fold applies it", sequence, kept[sequence])
		}
	}
	if len(f.dead) != len(kept) {
		s.tb.Errorf("%d dead letters, and by a pure fold %d", len(kept), len(f.dead))
	}
}
