package replay

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"sync"

	"callboard/projector/store"
)

// runs are the sorted rows of a part's pieces: a file for each piece, in which each table's rows follow each other.
type runs struct {
	dir    string
	part   *spooledPart
	tables []string

	mu       sync.Mutex // guards what follows
	pieces   int
	sections map[string][]section // by table
}

// section is a table's run in the file of a piece.
type section struct {
	path      string
	from, end int64
}

func newRuns(dir string, p *spooledPart, tables []string) *runs {
	return &runs{dir: dir, part: p, tables: tables, sections: make(map[string][]section)}
}

// add writes the rows of a piece. Several goroutines may add pieces.
func (r *runs) add(rows store.TableRows) error {
	r.mu.Lock()
	name := r.part.runName(r.pieces)
	r.pieces++
	r.mu.Unlock()
	files := newFiles(r.dir)
	if err := files.remove(name); err != nil { // of a process that was killed
		return err
	}
	written := make(map[string]section, len(r.tables))
	for _, table := range r.tables {
		from := files.length(name)
		if err := writeRun(files, name, rows(table)); err != nil {
			return err
		}
		if end := files.length(name); end > from {
			written[table] = section{files.path(name), from, end}
		}
	}
	if err := files.flush(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for table, s := range written {
		r.sections[table] = append(r.sections[table], s)
	}
	return nil
}

func writeRun(files *files, name string, rows iter.Seq2[store.EncodedRow, error]) error {
	for row, err := range rows {
		if err != nil {
			return err
		}
		_, err = files.append(name, func(dst []byte) []byte {
			dst = append(binary.AppendUvarint(dst, uint64(len(row.SortKey))), row.SortKey...)
			return append(dst, row.Data...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *runs) remove() error {
	files := newFiles(r.dir)
	for piece := range r.pieces {
		if err := files.remove(r.part.runName(piece)); err != nil {
			return err
		}
	}
	return nil
}

// merged returns the rows of the tables that have runs, in order, and those of the others.
func (r *runs) merged(others store.TableRows) store.TableRows {
	return func(table string) iter.Seq2[store.EncodedRow, error] {
		list := r.sections[table]
		if list == nil {
			return others(table)
		}
		return func(yield func(store.EncodedRow, error) bool) {
			if err := merge(list, func(row store.EncodedRow) bool { return yield(row, nil) }); err != nil {
				yield(store.EncodedRow{}, err)
			}
		}
	}
}

// merge passes the rows of some runs to yield, until it returns false.
func merge(list []section, yield func(store.EncodedRow) bool) error {
	var open runHeap
	defer func() {
		for _, run := range open {
			run.frames.close()
		}
	}()
	for _, s := range list {
		frames, err := openFrames(s.path, s.from, s.end)
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
	r.row = store.EncodedRow{SortKey: p.take(p.count()), Data: p.rest}
	if p.damaged {
		return errDamaged
	}
	return nil
}

// runHeap has the run with the first row at its top.
type runHeap []*run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return bytes.Compare(h[i].row.SortKey, h[j].row.SortKey) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *runHeap) Push(x any) { *h = append(*h, x.(*run)) }

// Pop implements [heap.Interface].
func (h *runHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
