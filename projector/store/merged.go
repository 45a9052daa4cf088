package store

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// mergedScan selects rows of a distributed table in the order of their keys. One statement over all nodes would read its limit from each
// shard. So each statement reads one partition, on its node, and the partitions are merged.
type mergedScan []*partitionScan

// partitionScan selects the rows of one partition.
type partitionScan struct {
	scan
	rows  []Row // that are read and not yielded
	after Key   // the last key that was read
	ended bool
}

// mergedScan selects all rows after a key.
func (c Catalog) mergedScan(r relation, after Key) mergedScan {
	var m mergedScan
	for n := range c.partitions {
		p := &partitionScan{scan: c.scan(r), after: after}
		p.limit = max(1, scanRows/c.partitions)
		p.conditions = []string{partitionColumn + " = $1::smallint"}
		p.arguments = [][]byte{binary.BigEndian.AppendUint16(nil, uint16(n))}
		p.yield = func(row Row, _ error) bool {
			p.rows = append(p.rows, row.clone())
			return true
		}
		m = append(m, p)
	}
	return m
}

// nodeSettings are those of snapshot.sql that the nodes' sessions need: a scan has the order of the primary key. They hold until the transaction ends.
func nodeSettings() []string {
	return []string{
		"set local citus.propagate_set_commands = 'local'", "set local enable_seqscan = off", "set local enable_bitmapscan = off",
		"set local enable_sort = off", "set local jit = off",
	}
}

// setNodes applies nodeSettings, each in a separate statement: Citus passes the whole text on.
func setNodes(ctx context.Context, conn *pgx.Conn) error {
	for _, sql := range nodeSettings() {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
	}
	return nil
}

// run yields the rows.
func (m mergedScan) run(ctx context.Context, conn *pgx.Conn, yield func(Row, error) bool) {
	if err := setNodes(ctx, conn); err != nil {
		yield(Row{}, err)
		return
	}
	for _, p := range m {
		if err := p.read(ctx, conn); err != nil {
			yield(Row{}, err)
			return
		}
	}
	heap.Init(&m)
	for len(m) > 0 && len(m[0].rows) > 0 {
		first := m[0]
		if !yield(first.rows[0], nil) {
			return
		}
		first.rows = first.rows[1:]
		if err := first.read(ctx, conn); err != nil {
			yield(Row{}, err)
			return
		}
		heap.Fix(&m, 0)
	}
}

// read reads the next rows if none are left. Afterwards there are rows, or the partition has no more.
func (p *partitionScan) read(ctx context.Context, conn *pgx.Conn) error {
	if len(p.rows) > 0 || p.ended {
		return nil
	}
	p.rows = p.rows[:0]
	last, _, err := p.portion(ctx, conn, p.after)
	if err != nil {
		return fmt.Errorf("%s: %w", p.decoder.name, err)
	}
	p.after, p.ended = last, last == nil
	return nil
}

// Len implements [heap.Interface].
func (m mergedScan) Len() int { return len(m) }

// Less implements [heap.Interface]: partitions without rows are last.
func (m mergedScan) Less(i, j int) bool {
	a, b := m[i].rows, m[j].rows
	if len(a) == 0 || len(b) == 0 {
		return len(a) > len(b)
	}
	return a[0].CompareKey(b[0].Key()) < 0
}

// Swap implements [heap.Interface].
func (m mergedScan) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

// Push implements [heap.Interface].
func (m *mergedScan) Push(x any) { *m = append(*m, x.(*partitionScan)) }

// Pop implements [heap.Interface].
func (m *mergedScan) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

// clone returns a copy that outlives the next row.
func (r Row) clone() Row {
	fields := make([][]byte, len(r.Fields))
	for i, value := range r.Fields {
		fields[i] = bytes.Clone(value)
	}
	r.Fields = fields
	return r
}
