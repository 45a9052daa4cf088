package fanout

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema"
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

	//go:embed phone_systems.sql
	phoneSystemsSQL string

	//go:embed span.sql
	spanSQL string
)

// FanOut creates deliveries. It is for one goroutine.
type FanOut struct {
	database *pgxpool.Pool
	gate     *Gate // nil: readers use the database itself
	nodes    schema.Nodes
}

// New returns a fan-out in the primary database, as callboard_webhooks.
func New(database *pgxpool.Pool, gate *Gate) *FanOut { return &FanOut{database: database, gate: gate} }

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
	nodes, err := f.nodes.Exist(ctx, f.database)
	if err != nil {
		return Result{}, err
	}
	var released []Position
	gated := nodes || f.gate != nil
	if gated {
		held, err := f.HeldSince(ctx)
		if err != nil || held.IsZero() {
			return Result{}, err
		}
		if released, err = f.released(ctx); err != nil {
			return Result{}, err
		}
	}
	var result Result
	err = pgx.BeginFunc(ctx, f.database, func(tx pgx.Tx) (err error) {
		cursors, err := lockCursors(ctx, tx, released, gated)
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

// released returns up to which sequence this database and all that readers use have the rows of each partition. A commit that changes a node and
// the coordinator shows its notices before its rows, so that this database is asked, too.
func (f *FanOut) released(ctx context.Context) (list []Position, err error) {
	positions, err := readPositions(ctx, f.database)
	if err != nil {
		return nil, fmt.Errorf("positions: %w", err)
	}
	if f.gate != nil {
		positions = minimum(positions, f.gate.released(ctx))
	}
	for p, sequence := range positions {
		p.Sequence = sequence
		list = append(list, p)
	}
	return list, nil
}

// cursor is a partition's cursor, and up to which sequence its notices are released.
type cursor struct {
	Position
	upTo int64
}

func lockCursors(ctx context.Context, tx pgx.Tx, released []Position, gated bool) ([]cursor, error) {
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock_shared($1, $2)", LockClass, ActivationLock); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, addCursorsSQL); err != nil {
		return nil, err
	}
	arguments := append([]any{gated}, columns(released)...)
	rows, _ := tx.Query(ctx, cursorsSQL, append(arguments, maxCursors)...)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c cursor, err error) {
		err = row.Scan(&c.Stream, &c.Partition, &c.Sequence, &c.upTo)
		return c, err
	})
}

// span is what a step takes of a partition.
type span struct {
	cursor
	systems []uuid.UUID // of the notices
}

func fanOut(ctx context.Context, tx pgx.Tx, cursors []cursor) (r Result, err error) {
	spans, more, err := readSpans(ctx, tx, cursors)
	if err != nil {
		return r, err
	}
	systems, err := readPhoneSystems(ctx, tx, spans)
	if err != nil {
		return r, err
	}
	for i, s := range spans {
		cursors[i] = s.cursor
	}
	arguments := append(cursorColumns(cursors), systems.ids, systems.organizations)
	err = tx.QueryRow(ctx, fanOutSQL, arguments...).Scan(&r.Notices, &r.Deliveries, &r.Skipped, &r.Shards)
	r.More = more
	return r, err
}

// cursorColumns are cursors as the parameters of a statement: one array per column.
func cursorColumns(cursors []cursor) []any {
	positions, upTo := make([]Position, len(cursors)), make([]int64, len(cursors))
	for i, c := range cursors {
		positions[i], upTo[i] = c.Position, c.upTo
	}
	return append(columns(positions), upTo)
}

// readSpans reads what a step takes; more: not all that is released.
func readSpans(ctx context.Context, tx pgx.Tx, cursors []cursor) (spans []span, more bool, err error) {
	rows, _ := tx.Query(ctx, spanSQL, append(cursorColumns(cursors), maxNotices)...)
	spans, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s span, err error) {
		var count, last int64
		if err := row.Scan(&s.Stream, &s.Partition, &s.Sequence, &s.upTo, &count, &last, &s.systems); err != nil {
			return s, err
		}
		if count >= maxNotices {
			s.upTo, more = last, true
		}
		return s, nil
	})
	return spans, more, err
}

// phoneSystems are columns of phone systems.
type phoneSystems struct {
	ids           []uuid.UUID
	organizations []*uuid.UUID // nil: none
}

// readPhoneSystems reads the phone systems of spans that exist, in one round trip, each partition's at its node.
func readPhoneSystems(ctx context.Context, tx pgx.Tx, spans []span) (list phoneSystems, err error) {
	batch := &pgx.Batch{}
	for _, s := range spans {
		if len(s.systems) == 0 {
			continue
		}
		batch.Queue(phoneSystemsSQL, s.Partition, s.systems).Query(func(rows pgx.Rows) error {
			var id uuid.UUID
			var organization *uuid.UUID
			_, err := pgx.ForEachRow(rows, []any{&id, &organization}, func() error {
				list.ids, list.organizations = append(list.ids, id), append(list.organizations, organization)
				return nil
			})
			return err
		})
	}
	return list, tx.SendBatch(ctx, batch).Close()
}
