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
	//go:embed clock_adjustments.sql
	clockAdjustmentsSQL string

	//go:embed recorded_dead_letters.sql
	recordedDeadLettersSQL string
)

// Decisions reads the decisions about a partition above its position.
func (s *Store) Decisions(ctx context.Context, p Position) (d Decisions, err error) {
	if d.Corrections, err = s.corrections(ctx, p); err != nil {
		return d, fmt.Errorf("corrections: %w", err)
	}
	if d.ClockAdjustments, err = s.clockAdjustments(ctx, p); err != nil {
		return d, fmt.Errorf("clock adjustments: %w", err)
	}
	if d.DeadLetters, err = s.deadLetters(ctx, p); err != nil {
		return d, fmt.Errorf("dead letters: %w", err)
	}
	return d, nil
}

func (s *Store) clockAdjustments(ctx context.Context, p Position) (fold.ClockAdjustments, error) {
	rows, _ := s.pool.Query(ctx, clockAdjustmentsSQL, p.Stream, p.Partition, int64(p.Sequence))
	var list []fold.ClockAdjustment
	var a fold.ClockAdjustment
	columns := []any{&a.Capped, &a.First, &a.Last, (*instant)(&a.LastStoredAt), (*instant)(&a.Time), &a.Messages}
	_, err := pgx.ForEachRow(rows, columns, func() error {
		list = append(list, a)
		return nil
	})
	return fold.NewClockAdjustments(list), err
}

func (s *Store) deadLetters(ctx context.Context, p Position) (map[MessageID]string, error) {
	rows, _ := s.pool.Query(ctx, recordedDeadLettersSQL, p.Stream, p.Partition, int64(p.Sequence))
	reasons := make(map[MessageID]string)
	var sequence uint64
	var storedAt time.Time
	var reason string
	_, err := pgx.ForEachRow(rows, []any{&sequence, &storedAt, &reason}, func() error {
		reasons[NewMessageID(sequence, storedAt)] = reason
		return nil
	})
	return reasons, err
}
