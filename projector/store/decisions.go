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

// Decisions are what was decided when the messages above a position were first applied. A replay that repeats them gives the same rows. A
// worker that applies messages for the first time finds none.
type Decisions struct {
	ClockAdjustments map[uint64]events.Time // by sequence
	DeadLetters      map[MessageID]*RecordedDeadLetter
	Retries          []Retry // in the order of their numbers
}

// MessageID identifies a message of a stream. A stream that lost its end gives a sequence to another message, at another time.
type MessageID struct {
	Sequence uint64
	StoredAt events.Time
}

// NewMessageID returns the identity of the message that a stream stored at a time.
func NewMessageID(sequence uint64, storedAt time.Time) MessageID {
	return MessageID{sequence, events.TimeOf(storedAt)}
}

// RecordedDeadLetter is a dead letter of an earlier application.
type RecordedDeadLetter struct {
	Reason string
	Seen   bool // whether a replay has read its message
}

// HasDeadLetter tells whether a dead letter was recorded at the first application.
func (d Decisions) HasDeadLetter(letter DeadLetter) bool {
	return d.DeadLetters[NewMessageID(letter.Sequence, letter.StoredAt)] != nil
}

// Until returns the decisions without the retries after a retry number.
func (d Decisions) Until(retrySeq int64) Decisions {
	n := slices.IndexFunc(d.Retries, func(r Retry) bool { return r.RetrySeq > retrySeq })
	if n >= 0 {
		d.Retries = d.Retries[:n]
	}
	return d
}

// RetriesDue tells whether the next recorded retry belongs behind the messages up to a sequence.
func (d Decisions) RetriesDue(upTo uint64) bool {
	return len(d.Retries) > 0 && d.Retries[0].Position <= upTo
}

// Retry is a dead letter that is applied again: a recorded retry, or a requested one.
type Retry struct {
	DeadLetter DeadLetter
	RetrySeq   int64
	Position   uint64      // it is applied behind the partition's messages up to this sequence; 0: behind the current position
	Clock      events.Time // the partition's clock at the retry; 0: the current clock
}

var (
	//go:embed clock_adjustments.sql
	clockAdjustmentsSQL string

	//go:embed recorded_dead_letters.sql
	recordedDeadLettersSQL string

	//go:embed requested_retries.sql
	requestedRetriesSQL string
)

// Decisions reads the decisions about a partition above its position.
func (s *Store) Decisions(ctx context.Context, p Position) (Decisions, error) {
	d := Decisions{ClockAdjustments: make(map[uint64]events.Time), DeadLetters: make(map[MessageID]*RecordedDeadLetter)}
	if err := s.readClockAdjustments(ctx, p, &d); err != nil {
		return d, fmt.Errorf("clock adjustments: %w", err)
	}
	if err := s.readDeadLetters(ctx, p, &d); err != nil {
		return d, fmt.Errorf("dead letters: %w", err)
	}
	return d, nil
}

func (s *Store) readClockAdjustments(ctx context.Context, p Position, d *Decisions) error {
	rows, err := s.pool.Query(ctx, clockAdjustmentsSQL, p.Stream.Name, p.Stream.Created, p.Partition, int64(p.Sequence))
	if err != nil {
		return err
	}
	var sequence int64
	var clock events.Time
	_, err = pgx.ForEachRow(rows, []any{&sequence, (*instant)(&clock)}, func() error {
		d.ClockAdjustments[uint64(sequence)] = clock
		return nil
	})
	return err
}

func (s *Store) readDeadLetters(ctx context.Context, p Position, d *Decisions) error {
	rows, err := s.pool.Query(ctx, recordedDeadLettersSQL, p.Stream.Name, p.Stream.Created, p.Partition, int64(p.Sequence), p.RetrySeq)
	if err != nil {
		return err
	}
	var letter DeadLetter
	var retrySeq, position pgtype.Int8
	var clock events.Null[events.Time]
	targets := []any{
		&letter.Sequence, &letter.Reason, &retrySeq, &position, (*nullInstant)(&clock),
		&letter.Subject, &letter.Header, &letter.Data, &letter.StoredAt,
	}
	_, err = pgx.ForEachRow(rows, targets, func() error {
		if letter.Sequence > p.Sequence {
			d.DeadLetters[NewMessageID(letter.Sequence, letter.StoredAt)] = &RecordedDeadLetter{Reason: letter.Reason}
		}
		if retrySeq.Int64 > p.RetrySeq {
			d.Retries = append(d.Retries, Retry{
				DeadLetter: letter, RetrySeq: retrySeq.Int64, Position: uint64(position.Int64), Clock: clock.Value,
			})
		}
		letter.Header, letter.Data = nil, nil // the retry's own from now on
		return nil
	})
	return err
}

// RequestedRetries returns the dead letters up to the position whose retry is requested, up to a limit. They stay locked until the
// transaction ends.
func (tx *Tx) RequestedRetries(ctx context.Context, p Position, limit int) (retries []Retry, err error) {
	rows, err := tx.tx.Query(ctx, requestedRetriesSQL, p.Stream.Name, p.Stream.Created, p.Partition, int64(p.Sequence), limit)
	if err == nil {
		retries, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Retry, err error) {
			letter := &r.DeadLetter
			err = row.Scan(&letter.Sequence, &letter.Subject, &letter.Header, &letter.Data, &letter.StoredAt, &r.RetrySeq)
			return r, err
		})
	}
	if len(retries) > 0 && err == nil {
		// Claim checks are fetched while the transaction is idle.
		_, err = tx.tx.Exec(ctx, "set local idle_in_transaction_session_timeout = '2min'")
	}
	if err != nil {
		return nil, fmt.Errorf("requested retries: %w", err)
	}
	return retries, nil
}
