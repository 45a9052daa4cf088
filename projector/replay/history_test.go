package replay_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
	"callboard/projector/ingest"
	"callboard/projector/replay"
	"callboard/projector/store"
)

// history is what a stream has, and what was decided about it.
type history struct {
	partitions int
	messages   []events.StoredMessage
	decisions  map[int16]store.Decisions
	caps       map[int16][]fold.ClockCap // as those of the decisions
	systems    []uuid.UUID               // that a plan can name
}

func stream() store.Stream {
	return store.Stream{Name: "PHONES", Created: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)}
}

// drawHistory draws the events of up to six phone systems and of none, some of which can't be decoded, at times that step back and jump.
func drawHistory(t *rapid.T) history {
	h := history{partitions: rapid.IntRange(1, 3).Draw(t, "partitions"), decisions: make(map[int16]store.Decisions)}
	h.caps = make(map[int16][]fold.ClockCap)
	for partition := range h.partitions {
		h.decisions[int16(partition)] = store.Decisions{
			ClockAdjustments: make(map[uint64]events.Time), DeadLetters: make(map[store.MessageID]*store.RecordedDeadLetter),
		}
	}
	companies := rapid.IntRange(1, 3).Draw(t, "companies")
	queues := make([][]events.Event, companies)
	for i := range queues {
		for _, e := range foldtest.RandomHistory(t) {
			queues[i] = append(queues[i], ofCompany(i, e.Event))
		}
		h.systems = append(h.systems, systemOf(i, foldtest.ID(1)), systemOf(i, foldtest.ID(2)))
	}
	var sequence uint64
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for len(queues) > 0 {
		i := rapid.IntRange(0, len(queues)-1).Draw(t, "company")
		e := queues[i][0]
		if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
			queues = slices.Delete(queues, i, i+1)
		}
		sequence += uint64(rapid.IntRange(1, 3).Draw(t, "gap"))
		now = now.Add(time.Duration(rapid.IntRange(-5, 20).Draw(t, "milliseconds")) * time.Millisecond)
		h.add(t, e, sequence, now)
	}
	for partition, d := range h.decisions {
		d.ClockCaps = fold.NewClockCaps(h.caps[partition])
		h.decisions[partition] = d
	}
	return h
}

func systemOf(company int, system uuid.UUID) uuid.UUID {
	system[0] = byte(company)
	return system
}

// ofCompany moves an event to the phone systems of a company. Events of no single system stay.
func ofCompany(n int, e events.Event) events.Event {
	if e.System == uuid.Nil {
		return e
	}
	e.System = systemOf(n, e.System)
	if e.State != nil {
		switch field := reflect.ValueOf(e.State).Elem().FieldByName("PhoneSystemID").Addr().Interface().(type) {
		case *uuid.UUID:
			*field = e.System
		case *events.Null[uuid.UUID]:
			*field = events.Some(e.System)
		}
	}
	return e
}

func (h *history) add(t *rapid.T, e events.Event, sequence uint64, at time.Time) {
	e.ID, e.Source = fmt.Sprint("event-", sequence), "test"
	m, err := events.Encode(e)
	if err != nil {
		t.Fatalf("%s: %v", e.Type(), err)
	}
	partition := events.Partition(e.System, h.partitions)
	m.Subject = strings.Replace(m.Subject, "phones.", fmt.Sprintf("phones.%d.", partition), 1)
	switch rapid.IntRange(0, 24).Draw(t, "fault") {
	case 1:
		m.Data = m.Data[:len(m.Data)/2]
	case 2:
		m.Subject = fmt.Sprintf("phones.%d.nonsense.%s", partition, e.Entity)
	case 3:
		id := store.NewMessageID(sequence, at)
		h.decisions[int16(partition)].DeadLetters[id] = &store.RecordedDeadLetter{Reason: "recorded"}
	case 4:
		jump := events.TimeOf(at) + events.Time(rapid.IntRange(1, 500).Draw(t, "jump"))
		h.decisions[int16(partition)].ClockAdjustments[sequence] = jump
	case 5:
		last := sequence + uint64(rapid.IntRange(0, 9).Draw(t, "capped"))
		h.caps[int16(partition)] = append(h.caps[int16(partition)], fold.ClockCap{First: sequence, Last: last, Time: events.TimeOf(at)})
		at = at.Add(24 * time.Hour)
	}
	h.messages = append(h.messages, events.StoredMessage{Message: m, Sequence: sequence, StoredAt: at})
}

func (h history) last() uint64 { return h.messages[len(h.messages)-1].Sequence }

// folded folds a partition in one piece, without a spool.
func (h history) folded(partition int16) store.ChangeSet {
	from := store.Position{Partition: partition, Stream: stream()}
	var items []ingest.Item
	for _, m := range h.messages {
		if !strings.HasPrefix(m.Subject, fmt.Sprintf("phones.%d.", partition)) {
			continue
		}
		it := ingest.Item{StoredMessage: m}
		if dead := h.decisions[partition].DeadLetters[store.NewMessageID(m.Sequence, m.StoredAt)]; dead != nil {
			it.Reason = dead.Reason
		} else if e, err := events.Decode(m.Message); err != nil {
			it.Reason = err.Error()
		} else {
			it.Event = e
		}
		items = append(items, it)
	}
	changes := ingest.Fold(&fold.State{Partition: partition}, from, items, ingest.Known{Decisions: h.decisions[partition]})
	changes.To.Sequence = h.last()
	changes.DeadLetters = slices.DeleteFunc(changes.DeadLetters, h.decisions[partition].HasDeadLetter)
	return changes
}

// drawPlan divides each partition into up to seven parts, of up to five slots each. Some partitions have a target.
func (h history) drawPlan(t *rapid.T) replay.Plan {
	plan := replay.Plan{Stream: stream(), Targets: make(map[int16]uint64)}
	for partition := range h.partitions {
		if rapid.Bool().Draw(t, "target") {
			plan.Targets[int16(partition)] = uint64(rapid.IntRange(0, int(h.last())).Draw(t, "at"))
		}
		parts := make([]replay.Part, rapid.SampledFrom([]int{1, 2, 7}).Draw(t, "parts"))
		for i := range parts {
			parts[i] = replay.Part{
				PartID: replay.PartID{Partition: int16(partition), Number: i}, Slots: rapid.IntRange(1, 5).Draw(t, "slots"),
			}
		}
		for _, system := range append(h.systems, uuid.Nil) {
			if i := rapid.IntRange(0, len(parts)).Draw(t, "part"); i < len(parts) {
				parts[i].Systems = append(parts[i].Systems, system)
			}
		}
		plan.Parts = append(plan.Parts, parts...)
	}
	return plan
}

// result is what folding gives, in a form that can be compared.
type result struct {
	rows        map[string]int // by table and bytes
	counts      store.MessageCounts
	deadLetters []string
	to          map[int16]store.Position
}

func newResult() result {
	return result{rows: make(map[string]int), counts: make(store.MessageCounts), to: make(map[int16]store.Position)}
}

func (r *result) add(t failer, changes store.ChangeSet, rows store.TableRows) {
	t.Helper()
	for _, table := range store.Tables() {
		var before string
		for row, err := range rows(table) {
			if err != nil {
				t.Fatal(err)
			}
			if key := string(row.SortKey); key <= before {
				t.Fatalf("%s: a row's sort key %x follows %x", table, key, before)
			} else {
				before = key
			}
			r.rows[fmt.Sprintf("%s %x", table, row.Data)]++
		}
	}
	r.counts.Add(changes.MessageCounts)
	for _, dead := range changes.DeadLetters {
		header, err := nats.DecodeHeadersMsg(dead.Header)
		if err != nil {
			t.Fatal(err)
		}
		r.deadLetters = append(r.deadLetters, fmt.Sprintf("%d %s %s %v %q", dead.Sequence, dead.Subject, dead.Reason, header, dead.Data))
	}
	partition := changes.To.Partition
	if other, found := r.to[partition]; found && other != changes.To {
		t.Fatalf("positions of two parts of partition %d = %+v and %+v, want equal ones", partition, other, changes.To)
	}
	r.to[partition] = changes.To
}

// differences lists up to a few lines.
func (r *result) differences(want result) (lines []string) {
	for row, n := range r.rows {
		if want.rows[row] != n {
			lines = append(lines, fmt.Sprintf("%d times instead of %d: %s", n, want.rows[row], row))
		}
	}
	for row, n := range want.rows {
		if r.rows[row] == 0 {
			lines = append(lines, fmt.Sprintf("0 times instead of %d: %s", n, row))
		}
	}
	if !reflect.DeepEqual(r.counts, want.counts) {
		lines = append(lines, fmt.Sprintf("message counts = %v, want %v", r.counts, want.counts))
	}
	slices.Sort(r.deadLetters)
	slices.Sort(want.deadLetters)
	if !slices.Equal(r.deadLetters, want.deadLetters) {
		lines = append(lines, fmt.Sprintf("dead letters = %v, want %v", r.deadLetters, want.deadLetters))
	}
	if !reflect.DeepEqual(r.to, want.to) {
		lines = append(lines, fmt.Sprintf("positions = %+v, want %+v", r.to, want.to))
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(a, b) })
	return lines[:min(len(lines), 12)]
}
