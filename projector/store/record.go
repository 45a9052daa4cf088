package store

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/events"
)

// Record is what happened above a position when its messages were applied first: a replay with it gives the same rows. Who applies
// them for the first time finds it empty.
type Decisions struct {
	ClockAdjustments map[uint64]events.Time // of the clock, by sequence
	DeadLetters      map[MessageID]*RecordedDeadLetter
	Retries          []Retry // in the order of their turns
}

// Stamp names a message of a stream: one that lost its end gives a sequence again, at another time.
type MessageID struct {
	Sequence uint64
	StoredAt events.Time
}

// StampOf is the stamp of what a stream stored at a time.
func NewMessageID(sequence uint64, stored time.Time) MessageID {
	return MessageID{sequence, events.TimeOf(stored)}
}

// Letter is a dead letter that is on record.
type RecordedDeadLetter struct {
	Reason string
	Seen   bool // whether its message has been read again
}

// Until is the record without the retries behind a turn.
func (r Decisions) Until(turn int64) Decisions {
	n := slices.IndexFunc(r.Retries, func(retry Retry) bool { return retry.RetrySeq > turn })
	if n >= 0 {
		r.Retries = r.Retries[:n]
	}
	return r
}

// Retry is a dead letter that is tried again.
type Retry struct {
	DeadLetter DeadLetter
	RetrySeq   int64
	Position   uint64      // behind the partition's messages up to this one; 0: behind what is there
	Clock      events.Time // at this time of the partition's; 0: at what it is
}

var (
	//go:embed clock_adjustments.sql
	clockAdjustmentsSQL string

	//go:embed letters.sql
	lettersSQL string

	//go:embed requested.sql
	requestedSQL string
)

// Record is that of a partition above its position.
func (s *Store) Decisions(ctx context.Context, p Position) (Decisions, error) {
	r := Decisions{ClockAdjustments: make(map[uint64]events.Time), DeadLetters: make(map[MessageID]*RecordedDeadLetter)}
	if err := s.adjustments(ctx, p, r.ClockAdjustments); err != nil {
		return r, fmt.Errorf("adjustments: %w", err)
	}
	if err := s.letters(ctx, p, &r); err != nil {
		return r, fmt.Errorf("dead letters: %w", err)
	}
	return r, nil
}

func (s *Store) adjustments(ctx context.Context, p Position, adjustments map[uint64]events.Time) error {
	rows, err := s.pool.Query(ctx, clockAdjustmentsSQL, p.Stream.Name, p.Stream.Created, p.Partition, int64(p.Sequence))
	if err != nil {
		return err
	}
	var sequence int64
	var at events.Time
	_, err = pgx.ForEachRow(rows, []any{&sequence, (*instant)(&at)}, func() error {
		adjustments[uint64(sequence)] = at
		return nil
	})
	return err
}

func (s *Store) letters(ctx context.Context, p Position, r *Decisions) error {
	rows, err := s.pool.Query(ctx, lettersSQL, p.Stream.Name, p.Stream.Created, p.Partition, int64(p.Sequence), p.RetrySeq)
	if err != nil {
		return err
	}
	var letter DeadLetter
	var turn, position pgtype.Int8
	var clock events.Null[events.Time]
	into := []any{
		&letter.Sequence, &letter.Reason, &turn, &position, (*nullInstant)(&clock), &letter.Subject, &letter.Header, &letter.Data, &letter.StoredAt,
	}
	_, err = pgx.ForEachRow(rows, into, func() error {
		if letter.Sequence > p.Sequence {
			r.DeadLetters[NewMessageID(letter.Sequence, letter.StoredAt)] = &RecordedDeadLetter{Reason: letter.Reason}
		}
		if turn.Int64 > p.RetrySeq {
			r.Retries = append(r.Retries, Retry{DeadLetter: letter, RetrySeq: turn.Int64, Position: uint64(position.Int64), Clock: clock.Value})
		}
		letter.Header, letter.Data = nil, nil // the retry's own now
		return nil
	})
	return err
}

// Requested are dead letters below the position that somebody wants to be tried again, up to a limit. They stay locked until the
// transaction ends.
func (tx *Tx) RequestedRetries(ctx context.Context, p Position, limit int) (retries []Retry, err error) {
	// Their bodies are fetched while they are locked.
	if _, err := tx.tx.Exec(ctx, "set local idle_in_transaction_session_timeout = '2min'"); err != nil {
		return nil, fmt.Errorf("requested retries: %w", err)
	}
	rows, err := tx.tx.Query(ctx, requestedSQL, p.Stream.Name, p.Stream.Created, p.Partition, int64(p.Sequence), limit)
	if err != nil {
		return nil, fmt.Errorf("requested retries: %w", err)
	}
	retries, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Retry, err error) {
		err = row.Scan(&r.DeadLetter.Sequence, &r.DeadLetter.Subject, &r.DeadLetter.Header, &r.DeadLetter.Data, &r.DeadLetter.StoredAt, &r.RetrySeq)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("requested retries: %w", err)
	}
	return retries, nil
}
