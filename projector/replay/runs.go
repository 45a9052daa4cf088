package replay

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"iter"

	"callboard/projector/store"
)

// runs are the sorted rows of a part's pieces, in a file for each piece and table.
type runs struct {
	part    *spooledPart
	files   *files
	pieces  int
	byTable map[string][]string // names of files
}

func newRuns(dir string, p *spooledPart) *runs {
	return &runs{part: p, files: newFiles(dir), byTable: make(map[string][]string)}
}

// add writes the rows of a piece.
func (r *runs) add(rows store.TableRows) error {
	for _, table := range store.Tables() {
		name := r.part.runName(table, r.pieces)
		if err := r.files.remove(name); err != nil { // of a process that was killed
			return err
		}
		if err := r.write(name, rows(table)); err != nil {
			return err
		}
		if r.files.length(name) > 0 {
			r.byTable[table] = append(r.byTable[table], name)
		}
	}
	r.pieces++
	return r.files.flush()
}

func (r *runs) write(name string, rows iter.Seq2[store.EncodedRow, error]) error {
	for row, err := range rows {
		if err != nil {
			return err
		}
		_, err = r.files.append(name, func(dst []byte) []byte {
			dst = append(binary.AppendUvarint(dst, uint64(len(row.Place))), row.Place...)
			return append(dst, row.Data...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *runs) remove() error {
	for _, names := range r.byTable {
		if err := r.files.remove(names...); err != nil {
			return err
		}
	}
	return nil
}

// merged returns the rows of the tables that have runs, in order, and those of the others.
func (r *runs) merged(others store.TableRows) store.TableRows {
	return func(table string) iter.Seq2[store.EncodedRow, error] {
		names := r.byTable[table]
		if names == nil {
			return others(table)
		}
		return func(yield func(store.EncodedRow, error) bool) {
			if err := r.merge(names, func(row store.EncodedRow) bool { return yield(row, nil) }); err != nil {
				yield(store.EncodedRow{}, err)
			}
		}
	}
}

// merge passes the rows of some runs to yield, until it returns false.
func (r *runs) merge(names []string, yield func(store.EncodedRow) bool) error {
	var open runHeap
	defer func() {
		for _, run := range open {
			run.frames.close()
		}
	}()
	for _, name := range names {
		frames, err := openFrames(r.files.path(name), 0, r.files.length(name))
		if err != nil {
			return err
		}
		run := &run{frames: frames}
		open = append(open, run)
		if err := run.next(); err != nil {
			return err
		}
	}
	heap.Init(&open)
	for len(open) > 0 {
		if !yield(open[0].row) {
			return nil
		}
		err := open[0].next()
		switch {
		case errors.Is(err, io.EOF):
			open[0].frames.close()
			heap.Pop(&open)
		case err != nil:
			return err
		default:
			heap.Fix(&open, 0)
		}
	}
	return nil
}

// run is a run that is read.
type run struct {
	frames *frameReader
	row    store.EncodedRow
}

func (r *run) next() error {
	payload, err := r.frames.next()
	if err != nil {
		return err
	}
	p := parser{rest: payload}
	r.row = store.EncodedRow{Place: p.take(p.count()), Data: p.rest}
	if p.damaged {
		return errDamaged
	}
	return nil
}

// runHeap has the run with the first row at its top.
type runHeap []*run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return bytes.Compare(h[i].row.Place, h[j].row.Place) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *runHeap) Push(x any) { *h = append(*h, x.(*run)) }

// Pop implements [heap.Interface].
func (h *runHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
