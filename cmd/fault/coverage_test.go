package fault_test

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
)

type coverageKey struct {
	Partition int
	Entity    string
}

// coverage is what became of messages.
type coverage struct {
	Read, Applied, Stale, Ignored, Dead int64
}

// cover counts a message under the entity that its subject names.
func (f *folded) cover(partition int, subject string, outcome fold.Outcome) {
	entity := subject[strings.LastIndexByte(subject, '.')+1:]
	if !slices.Contains(events.Entities(), events.Entity(entity)) {
		entity = "unknown"
	}
	key := coverageKey{partition, entity}
	c := f.covered[key]
	c.Read++
	switch outcome {
	case fold.Applied:
		c.Applied++
	case fold.Stale:
		c.Stale++
	case fold.Ignored:
		c.Ignored++
	default:
		c.Dead++
	}
	f.covered[key] = c
}

// compareCoverage holds the ledger against the fold, which has counted every message of the stream.
func (f *folded) compareCoverage(s *stage) {
	s.tb.Helper()
	rows, err := s.pool.Query(s.tb.Context(), "select partition, entity, read, applied, stale, ignored, dead from projection.message_count")
	if err != nil {
		s.tb.Fatal(err)
	}
	got := map[coverageKey]coverage{}
	var key coverageKey
	var c coverage
	into := []any{&key.Partition, &key.Entity, &c.Read, &c.Applied, &c.Stale, &c.Ignored, &c.Dead}
	if _, err := pgx.ForEachRow(rows, into, func() error { got[key] = c; return nil }); err != nil {
		s.tb.Fatal(err)
	}
	for key, c := range got {
		if c.Read != c.Applied+c.Stale+c.Ignored+c.Dead {
			s.tb.Errorf("coverage of %+v doesn't add up: %+v", key, c)
		}
		if _, known := f.covered[key]; !known {
			s.tb.Errorf("coverage of %+v is %+v, and there is no such message", key, c)
		}
	}
	for key, want := range f.covered {
		if got[key] != want {
			s.tb.Errorf("coverage of %+v is %+v, and by a pure fold %+v", key, got[key], want)
		}
	}
}
