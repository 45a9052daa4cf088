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

// fanOutResult is what a step of the fan-out did.
type fanOutResult struct {
	Notices    int
	Deliveries int
	Skipped    int         // notices of phone systems that don't exist
	Endpoints  []uuid.UUID // that got deliveries
	More       bool        // there are more released notices
}

// fanOut takes a step of the fan-out, and tells of the deliveries.
func (s *Sender) fanOut(ctx context.Context) (more bool, err error) {
	result, err := s.fanOutReleased(ctx)
	if err != nil {
		return false, err
	}
	s.metrics.skipped.WithLabelValues(reasonNoPhoneSystem).Add(float64(result.Skipped))
	if len(result.Endpoints) > 0 {
		s.publishDue(result.Endpoints)
	}
	return result.More, nil
}

// fanOutReleased turns released notices into deliveries, in one transaction: one for each endpoint whose target covers
// the notice's phone system.
//
//	notices of a partition ──> cursor ──> released? ──> deliveries of endpoints
//	                                        gate
//
// A cursor per partition tells up to which sequence that has happened. Several senders share the partitions: each step
// takes the cursors that no other transaction has locked. A notice is released when every database that readers use has
// the rows of which it tells.
func (s *Sender) fanOutReleased(ctx context.Context) (fanOutResult, error) {
	nodes, err := s.nodes.Exist(ctx, s.config.Database)
	if err != nil {
		return fanOutResult{}, err
	}

	// Where readers use other databases, or rows are on nodes, notices wait until all of them have the rows.
	var released map[partition]int64
	gated := nodes || s.config.Gate != nil
	if gated {
		// No database is asked while no notice waits.
		held, err := s.heldSince(ctx)
		if err != nil || held == nil {
			return fanOutResult{}, err
		}

		if released, err = s.released(ctx); err != nil {
			return fanOutResult{}, err
		}
	}

	var result fanOutResult
	err = pgx.BeginFunc(ctx, s.config.Database, func(tx pgx.Tx) (err error) {
		cursors, err := lockCursors(ctx, tx, released, gated)
		if err != nil || len(cursors) == 0 {
			return err
		}

		result, err = createDeliveries(ctx, tx, cursors)
		// A step that took all cursors it may take has perhaps left others.
		result.More = result.More || len(cursors) == maxCursors
		return err
	})
	if err != nil {
		return fanOutResult{}, fmt.Errorf("fan-out: %w", err)
	}
	return result, nil
}

// heldSince returns when the oldest notice was recorded that is not fanned out yet; nil: there is none.
func (s *Sender) heldSince(ctx context.Context) (at *time.Time, err error) {
	if err := s.config.Database.QueryRow(ctx, heldSQL).Scan(&at); err != nil {
		return nil, fmt.Errorf("held notices: %w", err)
	}
	return at, nil
}

// released returns up to which sequence this database and all that readers use have the rows of each partition. A
// commit that changes a node and the coordinator shows its notices before its rows, so that this database is asked,
// too.
func (s *Sender) released(ctx context.Context) (map[partition]int64, error) {
	positions, err := readPositions(ctx, s.config.Database)
	if err != nil {
		return nil, fmt.Errorf("positions: %w", err)
	}
	if s.config.Gate != nil {
		positions = minimum(positions, s.config.Gate.released(ctx))
	}
	return positions, nil
}

// partition is a partition of a stream.
type partition struct {
	stream uuid.UUID
	number int16
}

// span is what a step takes of a partition: the notices after the cursor, up to a sequence.
type span struct {
	partition
	after, upTo int64
	systems     []uuid.UUID // of the notices
}

// beginSQL excludes changes of endpoints. Nothing waits until a step is on disk: a crash that loses it loses cursors
// and deliveries together, and no outcome, since that commit comes later and waits.
const beginSQL = "select pg_advisory_xact_lock_shared($1, $2), set_config('synchronous_commit', 'off', true)"

// lockCursors returns the cursors that have released notices above them. It leaves out those that another sender has
// locked.
func lockCursors(ctx context.Context, tx pgx.Tx, released map[partition]int64, gated bool) (cursors []span, err error) {
	if _, err := tx.Exec(ctx, beginSQL, registry.FanOutLockClass, registry.FanOutLock); err != nil {
		return nil, err
	}

	// Both statements take one round trip.
	batch := &pgx.Batch{}
	batch.Queue(addCursorsSQL)

	var streams []uuid.UUID
	var numbers []int16
	var sequences []int64
	for p, sequence := range released {
		streams, numbers, sequences = append(streams, p.stream), append(numbers, p.number), append(sequences, sequence)
	}

	batch.Queue(cursorsSQL, gated, streams, numbers, sequences, maxCursors).Query(func(rows pgx.Rows) error {
		cursors, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c span, err error) {
			err = row.Scan(&c.stream, &c.number, &c.after, &c.upTo)
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
	n := len(spans)
	streams, numbers, after, upTo := make([]uuid.UUID, n), make([]int16, n), make([]int64, n), make([]int64, n)
	for i, s := range spans {
		streams[i], numbers[i], after[i], upTo[i] = s.stream, s.number, s.after, s.upTo
	}
	return []any{streams, numbers, after, upTo}
}

// readSpans reads what a step takes of released notices; more: not all that is released.
func readSpans(ctx context.Context, tx pgx.Tx, released []span) (spans []span, more bool, err error) {
	rows, _ := tx.Query(ctx, spanSQL, append(spanColumns(released), maxNotices)...)
	spans, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s span, err error) {
		var count, last int64
		err = row.Scan(&s.stream, &s.number, &s.after, &s.upTo, &count, &last, &s.systems)
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

		batch.Queue(phoneSystemsSQL, s.number, s.systems).Query(func(rows pgx.Rows) error {
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

// querier is a pool or a connection.
type querier interface {
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
}

// readPositions returns up to which sequence a database has the rows of each partition. A database without a projection
// has no positions; a partition whose node does not answer is missing.
func readPositions(ctx context.Context, db querier) (map[partition]int64, error) {
	all := make(map[partition]int64)
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

	for number := range partitions {
		// A partition whose node does not answer stays missing.
		if err := addPositions(ctx, db, all, positionSQL, number); err != nil && !errors.As(err, &refused) {
			return all, err
		}
	}
	return all, nil
}

// addPositions adds the positions that a statement selects.
func addPositions(ctx context.Context, db querier, all map[partition]int64, sql string, arguments ...any) error {
	rows, _ := db.Query(ctx, sql, arguments...)
	var p partition
	var sequence int64
	_, err := pgx.ForEachRow(rows, []any{&p.stream, &p.number, &sequence}, func() error {
		all[p] = sequence
		return nil
	})
	return err
}

// minimum returns the lower of the sequences of partitions that both have. A nil map has everything.
func minimum(a, b map[partition]int64) map[partition]int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}

	// A partition that either map lacks stays missing, so that none of its notices is released.
	both := make(map[partition]int64)
	for p, sequence := range a {
		if other, ok := b[p]; ok {
			both[p] = min(sequence, other)
		}
	}

	return both
}
