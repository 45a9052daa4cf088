package rebuild

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/store"
)

const (
	// maxSamples is how many differences of a table are listed.
	maxSamples = 20
	// maxListedRows is how many rows are listed one by one of a phone system's table that is empty on the other side.
	maxListedRows = 20
	// messageCountTable counts what became of messages. Its rows belong to no phone system.
	messageCountTable = "message_count"
)

// collector collects what several goroutines find into a comparison.
type collector struct {
	memory int64 // bytes of rows that one goroutine may hold to compare them one by one

	mu      sync.Mutex // guards what follows
	result  Comparison
	changes map[Change]int64 // by Change with 0 Rows
	samples map[string]int   // by table
}

func newCollector(memory int64) *collector {
	return &collector{memory: memory, changes: make(map[Change]int64), samples: make(map[string]int)}
}

// comparison returns what was found.
func (c *collector) comparison(missing []store.Column, otherDefinition bool) Comparison {
	r := c.result
	r.OtherDefinition = otherDefinition
	for change, rows := range c.changes {
		change.Rows = rows
		r.Changes = append(r.Changes, change)
	}
	slices.SortFunc(r.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Column, b.Column))
	})
	for _, column := range missing {
		r.MissingColumns = append(r.MissingColumns, column.String())
	}
	return r
}

// compare compares the digests of both sides, which it reads at the same time, then the rows behind the digests that differ.
func (c *collector) compare(expected, served rowSource, systems []uuid.UUID) error {
	var want, got map[digestKey]store.Digest
	var group errgroup.Group
	group.Go(func() (err error) {
		want, err = digests(expected(store.Tables(), systems))
		return err
	})
	group.Go(func() (err error) {
		got, err = digests(served(store.Tables(), systems))
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	c.mu.Lock()
	for _, d := range want {
		c.result.Rows += d.Rows
	}
	c.mu.Unlock()
	return c.diffMismatches(mismatches(want, got), expected, served)
}

// diffMismatches compares the rows of mismatches one by one, as many small mismatches of a table at a time as memory allows.
func (c *collector) diffMismatches(list []mismatch, expected, served rowSource) error {
	var table string
	var systems []uuid.UUID
	var memory int64
	flush := func() error {
		if len(systems) == 0 {
			return nil
		}
		err := c.diffRows(table, systems, expected, served)
		systems, memory = nil, 0
		return err
	}
	for _, m := range list {
		switch {
		case m.served == 0 && m.expected > maxListedRows:
			c.add(Difference{Table: m.table, System: m.system, Kind: KindMissing, Rows: m.expected})
			continue
		case m.expected == 0 && m.served > maxListedRows:
			c.add(Difference{Table: m.table, System: m.system, Kind: KindSurplus, Rows: m.served})
			continue
		case m.memory > c.memory:
			if err := c.diffSlices(m, expected, served); err != nil {
				return err
			}
			continue
		case m.table != table || memory+m.memory > c.memory:
			if err := flush(); err != nil {
				return err
			}
		}
		table = m.table
		systems, memory = append(systems, m.system), memory+m.memory
	}
	return flush()
}

// diffSlices compares the rows of a large mismatch one by one, as many slices at a time as memory allows.
func (c *collector) diffSlices(m mismatch, expected, served rowSource) error {
	s := newSlicer(m, c.memory)
	want, err := s.digests(expected)
	if err != nil {
		return err
	}
	got, err := s.digests(served)
	if err != nil {
		return err
	}
	chosen, memory := make(map[uint64]bool), int64(0)
	flush := func() error {
		if len(chosen) == 0 {
			return nil
		}
		err := c.diffRows(s.table, []uuid.UUID{s.system}, s.only(expected, chosen), s.only(served, chosen))
		clear(chosen)
		memory = 0
		return err
	}
	for slice := range s.count {
		if want[slice] == got[slice] {
			continue
		}
		if memory+memoryFor(want[slice]) > c.memory {
			if err := flush(); err != nil {
				return err
			}
		}
		chosen[slice] = true
		memory += memoryFor(want[slice])
	}
	return flush()
}

// diffRows holds the expected rows in memory and compares the served ones with them.
func (c *collector) diffRows(table string, systems []uuid.UUID, expected, served rowSource) error {
	byKey := make(map[string]store.Row)
	for row, err := range expected([]string{table}, systems) {
		if err != nil {
			return err
		}
		byKey[string(row.Key)] = cloneRow(row)
	}
	for row, err := range served([]string{table}, systems) {
		if err != nil {
			return err
		}
		want, ok := byKey[string(row.Key)]
		delete(byKey, string(row.Key))
		switch {
		case !ok:
			c.addRow(row, KindSurplus, nil)
		case !slices.EqualFunc(want.Fields, row.Fields, equalValues):
			c.addRow(row, KindChanged, changedValues(row, want.Fields))
		}
	}
	for _, want := range byKey {
		c.addRow(want, KindMissing, nil)
	}
	return nil
}

func (c *collector) addRow(row store.Row, kind Kind, values []Value) {
	d := Difference{Table: row.Table, System: row.System, Kind: kind, Rows: 1, Values: values}
	for i, name := range row.Columns()[:row.KeyColumns()] {
		if name == "partition" { // follows from the phone system
			continue
		}
		d.Key = append(d.Key, Value{Column: name, Expected: row.Format(i, row.Fields[i])})
	}
	c.add(d)
}

// changedValues returns the columns in which a served row differs from the expected fields.
func changedValues(served store.Row, expected [][]byte) (values []Value) {
	for i, name := range served.Columns() {
		if !equalValues(expected[i], served.Fields[i]) {
			values = append(values, Value{name, served.Format(i, served.Fields[i]), served.Format(i, expected[i])})
		}
	}
	return values
}

// diffMessageCounts compares what became of a partition's messages.
func (c *collector) diffMessageCounts(partition int16, expected, served store.MessageCounts) {
	entities := make(map[events.Entity]struct{})
	for _, counts := range []store.MessageCounts{expected, served} {
		for entity := range counts {
			entities[entity] = struct{}{}
		}
	}
	for _, entity := range slices.Sorted(maps.Keys(entities)) {
		if expected[entity] == served[entity] {
			continue
		}
		c.add(Difference{
			Table: messageCountTable, Kind: KindChanged, Rows: 1,
			Key:    []Value{{Column: "partition", Expected: strconv.Itoa(int(partition))}, {Column: "entity", Expected: string(entity)}},
			Values: []Value{{"counts", served[entity].String(), expected[entity].String()}},
		})
	}
}

func (c *collector) add(d Difference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.Kind == KindChanged {
		for _, v := range d.Values {
			c.changes[Change{Table: d.Table, Kind: d.Kind, Column: v.Column}]++
		}
	} else {
		c.changes[Change{Table: d.Table, Kind: d.Kind}] += d.Rows
	}
	if c.samples[d.Table]++; c.samples[d.Table] <= maxSamples {
		c.result.Samples = append(c.result.Samples, d)
	}
}

func (c *collector) addUnreadable(messages []UnreadableMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Unreadable = append(c.result.Unreadable, messages...)
}

func unreadableMessages(list []store.DeadLetter) []UnreadableMessage {
	messages := make([]UnreadableMessage, len(list))
	for i, l := range list {
		messages[i] = UnreadableMessage{l.Sequence, l.Subject, l.Reason}
	}
	return messages
}
