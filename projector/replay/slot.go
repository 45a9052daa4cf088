package replay

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// slotReader reads the records of one piece of a slot, in the order of the stream: those of the slot's file that were not moved away, and
// those that were moved here.
type slotReader struct {
	frames  *frameReader
	moved   []record
	dropped map[uint64]struct{} // sequences
	takes   func(record) bool
	upTo    uint64

	ahead record // the next one of the slot's file
	ended bool   // there is none
	at    int64  // where it begins; without one, the end of the file
}

// openSlot reads a slot's file from an offset.
func openSlot(p *piece, files *files, lengths map[string]int64, from int64, upTo uint64) (*slotReader, error) {
	r := &slotReader{takes: p.takes, upTo: upTo, dropped: make(map[uint64]struct{}), at: from}
	if err := r.readMoved(p, files); err != nil {
		return nil, err
	}
	name := p.part.slotName(p.slot)
	var err error
	if r.frames, err = openFrames(files.path(name), from, lengths[name]); err != nil {
		return nil, err
	}
	if err := r.readAhead(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *slotReader) close() { r.frames.close() }

func (r *slotReader) readMoved(p *piece, files *files) error {
	dropped, moved := p.part.droppedName(p.slot), p.part.movedName(p.slot)
	err := eachFrame(files.path(dropped), files.length(dropped), func(payload []byte) error {
		if len(payload) != 8 {
			return errDamaged
		}
		r.dropped[binary.BigEndian.Uint64(payload)] = struct{}{}
		return nil
	})
	if err != nil {
		return err
	}
	err = eachFrame(files.path(moved), files.length(moved), func(payload []byte) error {
		record, err := parseRecord(payload)
		if err == nil && r.takes(record) {
			r.moved = append(r.moved, record)
		}
		return err
	})
	slices.SortFunc(r.moved, func(a, b record) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return err
}

func eachFrame(path string, length int64, take func(payload []byte) error) error {
	frames, err := openFrames(path, 0, length)
	if err != nil {
		return err
	}
	defer frames.close()
	for {
		payload, err := frames.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = take(payload)
		}
		if err != nil {
			return err
		}
	}
}

// next returns the next record. The error is [io.EOF] after the last one.
func (r *slotReader) next() (record, error) {
	if len(r.moved) > 0 && (r.ended || r.moved[0].Sequence < r.ahead.Sequence) {
		next := r.moved[0]
		r.moved = r.moved[1:]
		return next, nil
	}
	if r.ended || r.ahead.Sequence > r.upTo {
		return record{}, io.EOF
	}
	next := r.ahead
	return next, r.readAhead()
}

func (r *slotReader) readAhead() error {
	for {
		at := r.frames.at
		payload, err := r.frames.next()
		if errors.Is(err, io.EOF) {
			r.ahead, r.ended, r.at = record{}, true, max(r.at, at)
			return nil
		}
		if err != nil {
			return err
		}
		next, err := parseRecord(payload)
		if err != nil {
			return err
		}
		if _, dropped := r.dropped[next.Sequence]; (dropped || !r.takes(next)) && next.Sequence <= r.upTo {
			continue
		}
		r.ahead, r.at = next, at
		return nil
	}
}
