package deadletter

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/ingest"
)

//go:embed skip.sql
var skipMessageSQL string

// Skipped is a message that was made a dead letter before it was applied.
type Skipped struct {
	ID        int64     `json:"id"` // of the dead letter
	Partition int       `json:"partition"`
	Sequence  int64     `json:"sequence"`
	Subject   string    `json:"subject"`
	EventID   string    `json:"eventId"` // its ce-id; empty: it has none
	StoredAt  time.Time `json:"storedAt"`
}

// NotSkippedError says why a partition has no message to skip.
type NotSkippedError struct {
	Partition int
	Reason    string
}

// Error names the partition and the reason.
func (e *NotSkippedError) Error() string {
	return fmt.Sprintf("partition %d: no message was skipped: %s", e.Partition, e.Reason)
}

// Skip makes the next message of a partition a dead letter: the first one above the position. Projectors that run or
// start, rebuilds, verify and repair apply it as one, and neither decode it nor fetch its text. The error is a
// [*NotSkippedError] where there is none, or the position moved meanwhile.
func Skip(
	ctx context.Context, pool *pgxpool.Pool, js jetstream.JetStream, stream string, partition int,
) (Skipped, error) {
	source, err := ingest.OpenSource(ctx, js, stream)
	if err != nil {
		return Skipped{}, err
	}

	at, err := positionOf(ctx, pool, source.ID, partition)
	if err != nil {
		return Skipped{}, err
	}

	m, err := source.GetMsg(ctx, uint64(at)+1, jetstream.WithGetMsgSubject(events.PartitionFilter(partition)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return Skipped{}, &NotSkippedError{partition, fmt.Sprintf("the stream has none above the position, %d", at)}
	}
	if err != nil {
		return Skipped{}, fmt.Errorf("next message of partition %d: %w", partition, err)
	}

	item := ingest.Decoded{StoredMessage: events.StoredMessage{
		Message: events.Message{Subject: m.Subject, Header: m.Header, Data: m.Data}, Sequence: m.Sequence, StoredAt: m.Time,
	}}
	dead := item.DeadLetter("")

	var id *int64
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// The stream does not have this decision, so it must not be lost.
		if _, err := tx.Exec(ctx, "select control.commit_durably()"); err != nil {
			return err
		}

		return tx.QueryRow(ctx, skipMessageSQL, source.ID, partition, at,
			int64(dead.Sequence), dead.Subject, dead.Header, dead.Data, dead.StoredAt).Scan(&id)
	})
	switch {
	case err != nil:

		return Skipped{}, fmt.Errorf("skip message %d of partition %d: %w", m.Sequence, partition, err)
	case id == nil:
		return Skipped{}, &NotSkippedError{partition, fmt.Sprintf("the position moved from %d meanwhile", at)}
	}
	return Skipped{
		ID: *id, Partition: partition, Sequence: int64(m.Sequence), Subject: dead.Subject, EventID: m.Header.Get("ce-id"),
		StoredAt: m.Time,
	}, nil
}

const positionSQL = "select sequence from projection.position where partition = $1 and stream = $2"

// positionOf returns the sequence of a partition's position in the live projection.
func positionOf(ctx context.Context, pool *pgxpool.Pool, stream uuid.UUID, partition int) (sequence int64, err error) {
	err = pool.QueryRow(ctx, positionSQL, partition, stream).Scan(&sequence)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, &NotSkippedError{partition, "the projection has no position of it that is of the stream " + stream.String()}
	}
	if err != nil {
		return 0, fmt.Errorf("position of partition %d: %w", partition, err)
	}
	return sequence, nil
}
