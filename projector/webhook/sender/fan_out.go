package sender

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/projector/webhook/registry"
	"callboard/schema"
)

const (
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

// fanOut turns notices into deliveries: one for each endpoint whose target covers the notice's phone system. It is for
// one goroutine.
//
//	notices of a partition ──> cursor ──> released? ──> deliveries of endpoints
//	                                        gate
//
// A cursor per partition tells up to which sequence that has happened. Several senders share the partitions: each step
// takes the cursors that no other transaction has locked. A notice is released when every database that readers use has
// the rows of which it tells.
type fanOut struct {
	database *pgxpool.Pool
	gate     *Gate // nil: readers use the database itself
	nodes    schema.Nodes
}

// newFanOut returns a fan-out in the primary database, as callboard_webhooks.
func newFanOut(database *pgxpool.Pool, gate *Gate) *fanOut {
	return &fanOut{database: database, gate: gate}
}

// fanOutResult is what a step did.
type fanOutResult struct {
	Notices    int
	Deliveries int
	Skipped    int         // notices of phone systems that don't exist
	Endpoints  []uuid.UUID // that got deliveries
	More       bool        // there are more released notices
}

// step fans out released notices, in one transaction.
func (f *fanOut) step(ctx context.Context) (fanOutResult, error) {
	nodes, err := f.nodes.Exist(ctx, f.database)
	if err != nil {
		return fanOutResult{}, err
	}

	// Where readers use other databases, or rows are on nodes, notices wait until all of them have the rows.
	var released []Position
	gated := nodes || f.gate != nil
	if gated {
		held, err := f.heldSince(ctx)
		if err != nil || held == nil {
			return fanOutResult{}, err
		}
		if released, err = f.released(ctx); err != nil {
			return fanOutResult{}, err
		}
	}

	var result fanOutResult
	err = pgx.BeginFunc(ctx, f.database, func(tx pgx.Tx) (err error) {
		cursors, err := lockCursors(ctx, tx, released, gated)
		if err != nil || len(cursors) == 0 {
			return err
		}
		result, err = createDeliveries(ctx, tx, cursors)
		result.More = result.More || len(cursors) == maxCursors
		return err
	})
	if err != nil {
		return fanOutResult{}, fmt.Errorf("fan-out: %w", err)
	}
	return result, nil
}

// heldSince returns when the oldest notice was recorded that is not fanned out yet; nil: there is none.
func (f *fanOut) heldSince(ctx context.Context) (at *time.Time, err error) {
	if err := f.database.QueryRow(ctx, heldSQL).Scan(&at); err != nil {
		return nil, fmt.Errorf("held notices: %w", err)
	}
	return at, nil
}

// released returns up to which sequence this database and all that readers use have the rows of each partition. A
// commit that changes a node and the coordinator shows its notices before its rows, so that this database is asked,
// too.
func (f *fanOut) released(ctx context.Context) (list []Position, err error) {
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

// span is what a step takes of a partition: what is above the cursor, up to a sequence.
type span struct {
	Position
	upTo    int64
	systems []uuid.UUID // of the notices
}

// beginSQL excludes changes of endpoints. Nothing waits until a step is on disk: a crash that loses it loses cursors
// and deliveries together, and no outcome, since that commit comes later and waits.
const beginSQL = "select pg_advisory_xact_lock_shared($1, $2), set_config('synchronous_commit', 'off', true)"

// lockCursors returns the cursors that have released notices above them. It leaves out those that another sender has
// locked.
func lockCursors(ctx context.Context, tx pgx.Tx, released []Position, gated bool) (cursors []span, err error) {
	if _, err := tx.Exec(ctx, beginSQL, registry.FanOutLockClass, registry.FanOutLock); err != nil {
		return nil, err
	}
	batch := &pgx.Batch{}
	batch.Queue(addCursorsSQL)
	arguments := append([]any{gated}, columns(released)...)
	batch.Queue(cursorsSQL, append(arguments, maxCursors)...).Query(func(rows pgx.Rows) error {
		cursors, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c span, err error) {
			err = row.Scan(&c.Stream, &c.Partition, &c.Sequence, &c.upTo)
			return c, err
		})
		return err
	})
	return cursors, tx.SendBatch(ctx, batch).Close()
}

func createDeliveries(ctx context.Context, tx pgx.Tx, cursors []span) (r fanOutResult, err error) {
	spans, more, err := readSpans(ctx, tx, cursors)
	if err != nil {
		return r, err
	}
	systems, organizations, err := readPhoneSystems(ctx, tx, spans)
	if err != nil {
		return r, err
	}
	arguments := append(spanColumns(spans), systems, organizations)
	err = tx.QueryRow(ctx, fanOutSQL, arguments...).Scan(&r.Notices, &r.Deliveries, &r.Skipped, &r.Endpoints)
	r.More = more
	return r, err
}

// spanColumns are spans as the parameters of a statement: one array per column.
func spanColumns(spans []span) []any {
	positions, upTo := make([]Position, len(spans)), make([]int64, len(spans))
	for i, s := range spans {
		positions[i], upTo[i] = s.Position, s.upTo
	}
	return append(columns(positions), upTo)
}

// readSpans reads what a step takes of released notices; more: not all that is released.
func readSpans(ctx context.Context, tx pgx.Tx, released []span) (spans []span, more bool, err error) {
	rows, _ := tx.Query(ctx, spanSQL, append(spanColumns(released), maxNotices)...)
	spans, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s span, err error) {
		var count, last int64
		err = row.Scan(&s.Stream, &s.Partition, &s.Sequence, &s.upTo, &count, &last, &s.systems)
		if count >= maxNotices {
			s.upTo, more = last, true
		}
		return s, err
	})
	return spans, more, err
}

// readPhoneSystems reads the phone systems of spans that exist, and the organization of each, nil for none. It takes
// one round trip, and reads each partition's at its node.
func readPhoneSystems(
	ctx context.Context, tx pgx.Tx, spans []span,
) (ids []uuid.UUID, organizations []*uuid.UUID, err error) {
	batch := &pgx.Batch{}
	for _, s := range spans {
		if len(s.systems) == 0 {
			continue
		}
		batch.Queue(phoneSystemsSQL, s.Partition, s.systems).Query(func(rows pgx.Rows) error {
			var id uuid.UUID
			var organization *uuid.UUID
			_, err := pgx.ForEachRow(rows, []any{&id, &organization}, func() error {
				ids, organizations = append(ids, id), append(organizations, organization)
				return nil
			})
			return err
		})
	}
	return ids, organizations, tx.SendBatch(ctx, batch).Close()
}

var (
	//go:embed positions.sql
	positionsSQL string

	//go:embed position.sql
	positionSQL string
)

const partitionsSQL = "select coalesce(max(partitions), 0) from projection.generation"

// Position is up to which sequence something has happened to a partition of a stream.
type Position struct {
	Stream    uuid.UUID
	Partition int16
	Sequence  int64
}

// querier is a pool or a connection.
type querier interface {
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
}

// readPositions returns up to which sequence a database has the rows of each partition. Keys have no sequence. A
// database without a projection has no positions; a partition whose node does not answer is missing.
func readPositions(ctx context.Context, db querier) (map[Position]int64, error) {
	all := make(map[Position]int64)
	err := addPositions(ctx, db, all, positionsSQL)
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return all, err
	}

	// PostgreSQL refused the statement.
	clear(all)
	if refused.Code == pgerrcode.UndefinedTable || refused.Code == pgerrcode.InvalidSchemaName {
		return all, nil // no projection yet, or one that is being replaced
	}
	nodes, nodesErr := schema.HasNodes(ctx, db)
	if nodesErr != nil || !nodes {
		return all, errors.Join(err, nodesErr)
	}

	// A node does not answer: the partitions of the other ones are asked one by one.
	var partitions int16
	if err := db.QueryRow(ctx, partitionsSQL).Scan(&partitions); err != nil {
		return all, err
	}
	for partition := range partitions {
		if err := addPositions(ctx, db, all, positionSQL, partition); err != nil && !errors.As(err, &refused) {
			return all, err
		}
	}
	return all, nil
}

// addPositions adds the positions that a statement selects.
func addPositions(ctx context.Context, db querier, all map[Position]int64, sql string, arguments ...any) error {
	rows, _ := db.Query(ctx, sql, arguments...)
	var p Position
	var sequence int64
	_, err := pgx.ForEachRow(rows, []any{&p.Stream, &p.Partition, &sequence}, func() error {
		all[p] = sequence
		return nil
	})
	return err
}

// minimum returns the lower of the sequences of partitions that both have. A nil map has everything.
func minimum(a, b map[Position]int64) map[Position]int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := make(map[Position]int64)
	for p, sequence := range a {
		if other, ok := b[p]; ok {
			both[p] = min(sequence, other)
		}
	}
	return both
}

// columns are positions as the parameters of a statement: one array per column.
func columns(positions []Position) []any {
	n := len(positions)
	streams, partitions, sequences := make([]uuid.UUID, n), make([]int16, n), make([]int64, n)
	for i, p := range positions {
		streams[i], partitions[i], sequences[i] = p.Stream, p.Partition, p.Sequence
	}
	return []any{streams, partitions, sequences}
}
