package store

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
)

// Decisions are what was decided when the messages above a position were first applied. A replay that repeats them
// gives the same rows. A worker that applies messages for the first time finds none.
type Decisions struct {
	fold.Decisions
	DeadLetters map[MessageID]string // the reasons of dead letters, failed retries included
}

// MessageID identifies a message of a stream. A stream that lost its end gives a sequence to another message, at
// another time.
type MessageID struct {
	Sequence uint64
	StoredAt events.Time
}

// NewMessageID returns the identity of the message that a stream stored at a time.
func NewMessageID(sequence uint64, storedAt time.Time) MessageID {
	return MessageID{sequence, events.TimeOf(storedAt)}
}

// HasDeadLetter tells whether a dead letter was recorded at the first application.
func (d Decisions) HasDeadLetter(dead DeadLetter) bool {
	_, recorded := d.DeadLetters[NewMessageID(dead.Sequence, dead.StoredAt)]
	return recorded
}

var (
	//go:embed clock_caps.sql
	clockCapsSQL string

	//go:embed clock_adjustments.sql
	clockAdjustmentsSQL string

	//go:embed recorded_dead_letters.sql
	recordedDeadLettersSQL string
)

// Decisions reads the decisions about a partition above its position. A cap may begin below it.
func (s *Store) Decisions(ctx context.Context, p Position) (Decisions, error) {
	d := Decisions{DeadLetters: make(map[MessageID]string)}
	d.ClockAdjustments = make(map[uint64]events.Time)
	caps, err := s.ClockCaps(ctx, p)
	if err != nil {
		return d, err
	}
	d.ClockCaps = fold.NewClockCaps(caps)
	if d.Corrections, err = s.corrections(ctx, p); err != nil {
		return d, err
	}
	if err := s.readClockAdjustments(ctx, p, &d); err != nil {
		return d, fmt.Errorf("clock adjustments: %w", err)
	}
	if err := s.readDeadLetters(ctx, p, &d); err != nil {
		return d, fmt.Errorf("dead letters: %w", err)
	}
	return d, nil
}

// ClockCaps reads the caps of a partition that end above its position, in the order of their first messages.
func (s *Store) ClockCaps(ctx context.Context, p Position) ([]fold.ClockCap, error) {
	rows, _ := s.pool.Query(ctx, clockCapsSQL, p.Stream, p.Partition, int64(p.Sequence))
	var list []fold.ClockCap
	var one fold.ClockCap
	_, err := pgx.ForEachRow(rows, []any{&one.First, &one.Last, (*instant)(&one.LastStoredAt), (*instant)(&one.Time), &one.Messages}, func() error {
		list = append(list, one)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("clock caps: %w", err)
	}
	return list, nil
}

func (s *Store) readClockAdjustments(ctx context.Context, p Position, d *Decisions) error {
	rows, _ := s.pool.Query(ctx, clockAdjustmentsSQL, p.Stream, p.Partition, int64(p.Sequence))
	var sequence int64
	var clock events.Time
	_, err := pgx.ForEachRow(rows, []any{&sequence, (*instant)(&clock)}, func() error {
		d.ClockAdjustments[uint64(sequence)] = clock
		return nil
	})
	return err
}

func (s *Store) readDeadLetters(ctx context.Context, p Position, d *Decisions) error {
	rows, _ := s.pool.Query(ctx, recordedDeadLettersSQL, p.Stream, p.Partition, int64(p.Sequence))
	var sequence uint64
	var storedAt time.Time
	var reason string
	_, err := pgx.ForEachRow(rows, []any{&sequence, &storedAt, &reason}, func() error {
		d.DeadLetters[NewMessageID(sequence, storedAt)] = reason
		return nil
	})
	return err
}
