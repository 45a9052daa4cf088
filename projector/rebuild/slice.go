package rebuild

import (
	"hash/maphash"
	"iter"

	"github.com/google/uuid"

	"callboard/projector/store"
)

// slicing cuts a place that is too large to be held into slices, by the keys of its rows.
type slicing struct {
	place
	seed   maphash.Seed
	number uint64 // of slices
}

// slicesHeld is about how many slices are as large as what may be held.
const slicesHeld = 8

func newSlicing(s suspect, room int64) slicing {
	return slicing{s.place, maphash.MakeSeed(), uint64(min(s.held/max(room/slicesHeld, 1), s.should) + 1)}
}

// of is the slice of a row.
func (s slicing) of(row store.Row) uint64 { return maphash.Bytes(s.seed, row.Key) % s.number }

// digests are those of the slices of one side.
func (s slicing) digests(rows side) ([]store.Digest, error) {
	digests := make([]store.Digest, s.number)
	for row, err := range rows([]string{s.table}, []uuid.UUID{s.system}) {
		if err != nil {
			return nil, err
		}
		digests[s.of(row)].Add(row)
	}
	return digests, nil
}

// only are the rows of one side that are in some slices.
func (s slicing) only(rows side, wanted map[uint64]bool) side {
	return func(tables []string, systems []uuid.UUID) iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for row, err := range rows(tables, systems) {
				if (err != nil || wanted[s.of(row)]) && !yield(row, err) {
					return
				}
			}
		}
	}
}

// sliced compares the rows of a place one by one, as many slices of it at a time as may be held.
func (c *collector) sliced(suspect suspect, should, served side) error {
	s := newSlicing(suspect, c.room)
	want, err := s.digests(should)
	if err != nil {
		return err
	}
	have, err := s.digests(served)
	if err != nil {
		return err
	}
	chosen, taken := make(map[uint64]bool), int64(0)
	flush := func() error {
		if len(chosen) == 0 {
			return nil
		}
		err := c.oneByOne(s.table, []uuid.UUID{s.system}, s.only(should, chosen), s.only(served, chosen))
		clear(chosen)
		taken = 0
		return err
	}
	for slice := range s.number {
		if want[slice] == have[slice] {
			continue
		}
		if taken+held(want[slice]) > c.room {
			if err := flush(); err != nil {
				return err
			}
		}
		chosen[slice] = true
		taken += held(want[slice])
	}
	return flush()
}
