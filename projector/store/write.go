package store

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/projector/fold"
)

// ChangeSet is what a batch writes.
type ChangeSet struct {
	From, To         Position
	State            *fold.State
	MessageCounts    MessageCounts
	Conflicts        []Conflict // they are not written
	DeadLetters      []DeadLetter
	ClockAdjustments []fold.ClockAdjustment
	Retries          []Retry
	Notices          []Notice
}

// DeadLetter is a message that can't be applied, kept whole.
type DeadLetter struct {
	Sequence uint64
	Subject  string
	Header   []byte // see EncodeHeader
	Data     []byte
	Reason   string
	StoredAt time.Time
}

var (
	//go:embed replace_dead_letter.sql
	replaceDeadLetterSQL string

	//go:embed insert_dead_letter.sql
	insertDeadLetterSQL string

	//go:embed insert_clock_adjustment.sql
	insertClockAdjustmentSQL string
)

// Write writes a change set and moves the position. It takes effect when the batch's transaction commits. The
// result is the notices that no earlier application has written. The error is [ErrFenced] where the position isn't
// the change set's From.
func (tx *Tx) Write(ctx context.Context, c ChangeSet) (fresh []Notice, err error) {
	// The position is first: the fence keeps another writer from the rows.
	var pipeline pgx.Batch
	queueAdvance(&pipeline, c.From, c.To)
	tx.store.queueRows(&pipeline, c.State)

	// What the stream doesn't have must not be lost.
	if c.decides() {
		pipeline.Queue(commitDurablySQL)
	}

	queueMessageCounts(&pipeline, c.From.Partition, c.MessageCounts)
	queueDeadLetters(&pipeline, c)
	queueClockAdjustments(&pipeline, c)
	queueRetries(&pipeline, c)
	queueNotices(&pipeline, c, &fresh)
	if err := tx.send(ctx, &pipeline); err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	return fresh, nil
}

// decides tells whether a change set has more than what follows from events.
func (c ChangeSet) decides() bool {
	return len(c.DeadLetters) > 0 || len(c.ClockAdjustments) > 0 || len(c.Retries) > 0 || len(c.Notices) > 0
}

// queueRows queues the statements that write the rows which follow from events.
func (s *Store) queueRows(pipeline *pgx.Batch, state *fold.State) {
	for _, r := range s.tables {
		queued := len(pipeline.QueuedQueries)
		r.write(state, pipeline)
		for _, query := range pipeline.QueuedQueries[queued:] {
			query.Exec(func(done pgconn.CommandTag) error {
				s.plans.wrote(r.name, done.RowsAffected())
				return nil
			})
		}
	}
}

func queueDeadLetters(pipeline *pgx.Batch, c ChangeSet) {
	stream := c.From.Stream
	for _, dead := range c.DeadLetters {
		for _, statement := range []string{replaceDeadLetterSQL, insertDeadLetterSQL} {
			pipeline.Queue(statement, stream, int64(dead.Sequence), c.From.Partition,
				dead.Subject, dead.Header, dead.Data, dead.Reason, dead.StoredAt)
		}
	}
}

func queueClockAdjustments(pipeline *pgx.Batch, c ChangeSet) {
	for _, a := range c.ClockAdjustments {
		lastStoredAt := timestamp(a.LastStoredAt)
		lastStoredAt.Valid = a.Capped
		pipeline.Queue(insertClockAdjustmentSQL, c.From.Stream, c.From.Partition,
			a.Capped, int64(a.First), int64(a.Last), lastStoredAt, timestamp(a.Time), a.Messages)
	}
}
