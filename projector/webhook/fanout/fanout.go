package fanout

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// LockClass is the first key of the advisory lock that a step holds shared. A command that determines from which sequence on an endpoint
	// gets events holds it exclusively, so that no step creates deliveries for the endpoint meanwhile.
	LockClass = 0x686f6f6b
	// ActivationLock is its second key.
	ActivationLock = -1

	// maxNotices is about how many notices of a partition one transaction takes, and maxCursors of how many partitions.
	maxNotices = 500
	maxCursors = 16
)

var (
	//go:embed add_cursors.sql
	addCursorsSQL string

	//go:embed cursors.sql
	cursorsSQL string

	//go:embed fan_out.sql
	fanOutSQL string

	//go:embed held.sql
	heldSQL string
)

// FanOut creates deliveries. It is for one goroutine.
type FanOut struct {
	database *pgxpool.Pool
	gate     *Gate // nil: readers use the database itself
}

// New returns a fan-out in the primary database, as callboard_webhooks.
func New(database *pgxpool.Pool, gate *Gate) *FanOut { return &FanOut{database, gate} }

// Result is what a step did.
type Result struct {
	Notices    int
	Deliveries int
	Skipped    int     // notices of phone systems that don't exist
	Shards     []int16 // of the endpoints that got deliveries
	More       bool    // there are more released notices
}

// Step fans out released notices, in one transaction.
func (f *FanOut) Step(ctx context.Context) (Result, error) {
	var released []Position
	all := f.gate == nil
	if !all {
		held, err := f.HeldSince(ctx)
		if err != nil || held.IsZero() {
			return Result{}, err
		}
		released, all = f.gate.released(ctx)
	}
	var result Result
	err := pgx.BeginFunc(ctx, f.database, func(tx pgx.Tx) (err error) {
		cursors, err := lockCursors(ctx, tx, released, all)
		if err != nil || len(cursors) == 0 {
			return err
		}
		result, err = fanOut(ctx, tx, cursors)
		result.More = result.More || len(cursors) == maxCursors
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("fan-out: %w", err)
	}
	return result, nil
}

// HeldSince returns when the oldest notice was recorded that is not fanned out yet; the zero time: there is none.
func (f *FanOut) HeldSince(ctx context.Context) (time.Time, error) {
	var at *time.Time
	if err := f.database.QueryRow(ctx, heldSQL).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("held notices: %w", err)
	}
	if at == nil {
		return time.Time{}, nil
	}
	return *at, nil
}

// cursor is a partition's cursor, and up to which sequence its notices are released.
type cursor struct {
	Position
	upTo int64
}

func lockCursors(ctx context.Context, tx pgx.Tx, released []Position, all bool) ([]cursor, error) {
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock_shared($1, $2)", LockClass, ActivationLock); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, addCursorsSQL); err != nil {
		return nil, err
	}
	arguments := append([]any{!all}, columns(released)...)
	rows, err := tx.Query(ctx, cursorsSQL, append(arguments, maxCursors)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c cursor, err error) {
		err = row.Scan(&c.Stream, &c.StreamCreated, &c.Partition, &c.Sequence, &c.upTo)
		return c, err
	})
}

func fanOut(ctx context.Context, tx pgx.Tx, cursors []cursor) (r Result, err error) {
	positions, upTo := make([]Position, len(cursors)), make([]int64, len(cursors))
	for i, c := range cursors {
		positions[i], upTo[i] = c.Position, c.upTo
	}
	arguments := append(columns(positions), upTo, maxNotices)
	err = tx.QueryRow(ctx, fanOutSQL, arguments...).Scan(&r.Notices, &r.Deliveries, &r.Skipped, &r.Shards, &r.More)
	return r, err
}

// Position is up to which sequence something has happened to a partition of a stream.
type Position struct {
	Stream        string
	StreamCreated time.Time
	Partition     int16
	Sequence      int64
}

// columns are positions as the parameters of a statement: one array per column.
func columns(positions []Position) []any {
	n := len(positions)
	streams, created, partitions, sequences := make([]string, n), make([]time.Time, n), make([]int16, n), make([]int64, n)
	for i, p := range positions {
		streams[i], created[i], partitions[i], sequences[i] = p.Stream, p.StreamCreated, p.Partition, p.Sequence
	}
	return []any{streams, created, partitions, sequences}
}
