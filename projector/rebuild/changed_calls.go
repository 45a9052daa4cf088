package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/store"
)

//go:embed referring_calls.sql
var referringCallsSQL string

const (
	// maxNamedTotal limits the names of the calls of all phone systems: their memory, and their rows, which are inserted in the write pause.
	maxNamedTotal = 200_000
	// maxEntries is how many directory entries of a phone system are looked up in its calls.
	maxEntries = 1000
)

// changedCalls collects the calls that show other values in the expected rows than in the served ones. It is for several goroutines.
type changedCalls struct {
	named int // of a phone system, at most

	mu      sync.Mutex // guards what follows
	systems map[uuid.UUID]*changedSystem
	total   int   // calls that are named
	calls   int64 // that show other values; those of phone systems with more than are named can count twice
}

// changedSystem are the changed calls of a phone system.
type changedSystem struct {
	calls   map[uuid.UUID]struct{}
	all     bool                   // there are more than are named
	entries map[uuid.UUID]struct{} // directory entries that only one side has: the calls that refer to them show other values
}

func newChangedCalls(c Config) *changedCalls {
	return &changedCalls{named: c.NamedCalls, systems: make(map[uuid.UUID]*changedSystem)}
}

// oneSided adds the calls of a row that only one side has.
func (c *changedCalls) oneSided(row store.Row, kind Kind) {
	switch row.Table {
	case "call_log":
		if kind == KindMissing { // that a call is gone is not reported
			c.add(row.System, rowID(row))
		}
	case "transcript", "transcript_text":
		c.addOwner(row)
	case "extension", "call_group", "representative":
		c.addEntry(row.System, rowID(row))
	}
}

// changed adds the call of a row that differs.
func (c *changedCalls) changed(expected, served store.Row) {
	switch served.Table {
	case "call_log":
		if showsOther(expected, served) {
			c.add(served.System, rowID(served))
		}
	case "transcript", "transcript_text":
		if showsOther(expected, served) {
			c.addOwner(served)
		}
	}
}

// showsOther tells whether two rows differ in a column that a report shows. That is updated_at, too: a later time was not announced, and a client
// that walks by updatedAt can be after an earlier one without having reached the served one.
func showsOther(expected, served store.Row) bool {
	for i, column := range served.Columns() {
		if column != "version" && !equalValues(expected.Fields[i], served.Fields[i]) {
			return true
		}
	}
	return false
}

// rowID returns the id that is the second value of a row's key, after the phone system.
func rowID(row store.Row) (id uuid.UUID) {
	copy(id[:], row.Key()[1])
	return id
}

// addOwner adds the call of a transcript.
func (c *changedCalls) addOwner(row store.Row) {
	if events.Entity(row.Key()[2]) == events.EntityCall {
		c.add(row.System, rowID(row))
	}
}

func (c *changedCalls) add(system, call uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.system(system)
	if _, known := s.calls[call]; known {
		return
	}
	c.calls++
	if s.all {
		return
	}
	if len(s.calls) >= c.named || c.total >= maxNamedTotal {
		c.correctAll(s)
		return
	}
	c.total++
	s.calls[call] = struct{}{}
}

// correctAll marks a phone system, so that all of its calls are corrected. It drops the calls and directory entries that were collected so far.
func (c *changedCalls) correctAll(s *changedSystem) {
	c.total -= len(s.calls)
	s.calls, s.entries, s.all = nil, nil, true
}

func (c *changedCalls) addEntry(system, entry uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s := c.system(system); {
	case s.all:
	case len(s.entries) >= maxEntries:
		c.correctAll(s)
	default:
		s.entries[entry] = struct{}{}
	}
}

func (c *changedCalls) system(id uuid.UUID) *changedSystem {
	if c.systems[id] == nil {
		c.systems[id] = &changedSystem{calls: make(map[uuid.UUID]struct{}), entries: make(map[uuid.UUID]struct{})}
	}
	return c.systems[id]
}

// findReferring adds the calls of a generation that refer to directory entries which only one side has.
func (c *changedCalls) findReferring(ctx context.Context, conn *pgx.Conn, schema string) error {
	for id, s := range c.systems {
		if len(s.entries) == 0 {
			continue
		}
		rows, _ := conn.Query(ctx, fmt.Sprintf(referringCallsSQL, schema), id, slices.Collect(maps.Keys(s.entries)), c.named+1)
		var call uuid.UUID
		_, err := pgx.ForEachRow(rows, []any{&call}, func() error {
			c.add(id, call)
			return nil
		})
		if err != nil {
			return fmt.Errorf("find the changed calls: %w", err)
		}
	}
	return nil
}

// count returns the number of changed calls, and of their phone systems.
func (c *changedCalls) count() (calls int64, systems int) {
	for _, s := range c.systems {
		if s.all || len(s.calls) > 0 {
			systems++
		}
	}
	return c.calls, systems
}
