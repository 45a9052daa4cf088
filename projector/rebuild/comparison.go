package rebuild

import (
	"cmp"
	"slices"
	"sync"

	"github.com/google/uuid"

	"callboard/projector/store"
)

// Comparison is how the rows that are served differ from those that should be.
type Comparison struct {
	Rows            int64               `json:"rows"`            // that should be
	Changes         []Change            `json:"changes"`         // by table and column
	Samples         []Difference        `json:"samples"`         // some of the rows that differ
	Unreadable      []UnreadableMessage `json:"unreadable"`      // messages that the served projection applied
	MissingColumns  []string            `json:"missingColumns"`  // tables and columns that the served projection does not have
	OtherDefinition bool                `json:"otherDefinition"` // another release built the served projection, so differences are expected
}

// Change is a number of rows that differ in the same way.
type Change struct {
	Table  string `json:"table"`
	Kind   Kind   `json:"kind"`
	Column string `json:"column,omitempty"` // of KindChanged
	Rows   int64  `json:"rows"`
}

// Kind is how a row differs.
type Kind string

// The kinds.
const (
	KindMissing Kind = "missing" // it should be served
	KindSurplus Kind = "surplus" // it should not
	KindChanged Kind = "changed"
)

// Difference is a row that differs, or with more rows than one all that a phone system has in a table.
type Difference struct {
	Table  string    `json:"table"`
	System uuid.UUID `json:"phoneSystemId"`
	Kind   Kind      `json:"kind"`
	Rows   int64     `json:"rows"`
	Key    []Value   `json:"key,omitempty"`    // of one row
	Values []Value   `json:"values,omitempty"` // of KindChanged
}

// Value is a column's, as people read it.
type Value struct {
	Column   string `json:"column"`
	Served   string `json:"served,omitempty"`
	Expected string `json:"expected"`
}

// UnreadableMessage is a message that was applied once and can no longer be read.
type UnreadableMessage struct {
	Sequence uint64 `json:"sequence"`
	Subject  string `json:"subject"`
	Reason   string `json:"reason"`
}

// Differs tells whether anything does. What another release's projection doesn't have is to be expected.
func (c Comparison) Differs() bool {
	return len(c.Changes)+len(c.Unreadable) > 0 || len(c.MissingColumns) > 0 && !c.OtherDefinition
}

// maxSamples is how many rows that differ are shown of a table.
const maxSamples = 20

// collector makes a comparison out of what several workers find.
type collector struct {
	mu      sync.Mutex
	result  Comparison
	changes map[Change]int64 // with Rows 0
	samples map[string]int   // by table
	room    int64            // bytes that rows may take to be compared one by one, by each worker
}

func newCollector(room int64) *collector {
	return &collector{changes: make(map[Change]int64), samples: make(map[string]int), room: room}
}

func (c *collector) counted(rows int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Rows += rows
}

// differs notes a row of which the other side has none, or another. Its own side is the kind's: surplus is served.
func (c *collector) differs(row store.Row, kind Kind, should [][]byte) {
	d := Difference{Table: row.Table, System: row.System, Kind: kind, Rows: 1}
	for i, name := range row.Columns()[:row.KeyColumns()] {
		d.Key = append(d.Key, Value{Column: name, Expected: row.Format(i, row.Fields[i])})
	}
	if kind == KindChanged {
		d.Values = changed(row, should)
	}
	c.add(d)
}

// whole notes that one side has no row of a place where the other has many.
func (c *collector) whole(at place, kind Kind, rows int64) {
	c.add(Difference{Table: at.table, System: at.system, Kind: kind, Rows: rows})
}

func (c *collector) add(d Difference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(d)
	if c.samples[d.Table]++; c.samples[d.Table] <= maxSamples {
		c.result.Samples = append(c.result.Samples, d)
	}
}

func (c *collector) count(d Difference) {
	if d.Kind != KindChanged {
		c.changes[Change{Table: d.Table, Kind: d.Kind}] += d.Rows
		return
	}
	for _, v := range d.Values {
		c.changes[Change{Table: d.Table, Kind: d.Kind, Column: v.Column}]++
	}
}

// changed are the columns in which a served row isn't as it should be.
func changed(served store.Row, should [][]byte) (values []Value) {
	for i, name := range served.Columns() {
		if !same(should[i], served.Fields[i]) {
			values = append(values, Value{name, served.Format(i, served.Fields[i]), served.Format(i, should[i])})
		}
	}
	return values
}

// unreadable notes messages that the served projection has applied.
func (c *collector) unreadable(list []store.DeadLetter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Unreadable = append(c.result.Unreadable, letters(list)...)
}

func letters(list []store.DeadLetter) []UnreadableMessage {
	letters := make([]UnreadableMessage, len(list))
	for i, l := range list {
		letters[i] = UnreadableMessage{l.Sequence, l.Subject, l.Reason}
	}
	return letters
}

// comparison is what was found.
func (c *collector) comparison(missing []store.Column, foreign bool) Comparison {
	r := c.result
	r.OtherDefinition = foreign
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
