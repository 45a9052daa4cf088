package rebuild

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"

	"callboard/events"
	"callboard/projector/store"
)

const (
	// maxSamples is how many differences of a table are listed.
	maxSamples = 20
	// maxListedRows is how many rows are listed one by one of a phone system that has none on the other side, in a table.
	maxListedRows = 20
	// messageCountTable counts what became of messages. Its rows belong to no phone system.
	messageCountTable = "message_count"
)

// collector collects what several goroutines find into a comparison.
type collector struct {
	mu      sync.Mutex // guards what follows
	result  Comparison
	changes map[Change]int64 // by Change with 0 Rows
	samples map[string]int   // by table

	calls *changedCalls
}

func newCollector(c Config) *collector {
	return &collector{changes: make(map[Change]int64), samples: make(map[string]int), calls: newChangedCalls(c)}
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
	r.ChangedCalls, r.ChangedCallSystems = c.calls.count()
	for _, column := range missing {
		r.MissingColumns = append(r.MissingColumns, column.String())
	}
	return r
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

// add counts a difference, and lists it.
func (c *collector) add(d Difference) {
	c.count(d)
	c.list(d)
}

func (c *collector) count(d Difference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.Kind != KindChanged {
		c.changes[Change{Table: d.Table, Kind: d.Kind}] += d.Rows
	}
	for _, v := range d.Values {
		c.changes[Change{Table: d.Table, Kind: d.Kind, Column: v.Column}]++
	}
}

// list lists a difference, unless the table has enough.
func (c *collector) list(d Difference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.samples[d.Table]++; c.samples[d.Table] <= maxSamples {
		c.result.Samples = append(c.result.Samples, d)
	}
}

func (c *collector) addRows(expected int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Rows += expected
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
