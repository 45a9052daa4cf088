package store

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/projector/fold"
)

// Retry is a message that publishes a dead letter again.
type Retry struct {
	Sequence   uint64 // of the message
	StoredAt   time.Time
	DeadLetter MessageID
	Outcome    fold.Outcome // 0: it failed
	Reason     string       // of the failure
}

// RetryCandidate is a message that names a dead letter.
type RetryCandidate struct {
	Sequence   uint64 // of the message
	DeadLetter MessageID
	Subject    string
	Digest     [32]byte // SHA-256 of the data
}

var (
	//go:embed retried_dead_letters.sql
	retriedDeadLettersSQL string

	//go:embed resolve_dead_letter.sql
	resolveDeadLetterSQL string

	//go:embed fail_retry.sql
	failRetrySQL string

	//go:embed record_failure.sql
	recordFailureSQL string
)

// Retries returns the sequences of the candidates that are retries: the dead letter that each names is open and has the
// same subject and data. The dead letters stay locked until the transaction ends, so that they can't be dropped
// meanwhile.
func (tx *Tx) Retries(
	ctx context.Context, p Position, candidates []RetryCandidate,
) (retries map[uint64]bool, err error) {
	retries = make(map[uint64]bool)
	if len(candidates) == 0 {
		return retries, nil
	}

	n := len(candidates)
	sequences, deadLetters, storedAt := make([]int64, n), make([]int64, n), make([]time.Time, n)
	subjects, digests := make([]string, n), make([][]byte, n)
	for i, c := range candidates {
		sequences[i], deadLetters[i], storedAt[i] = int64(c.Sequence), int64(c.DeadLetter.Sequence), c.DeadLetter.StoredAt.Std()
		subjects[i], digests[i] = c.Subject, c.Digest[:]
	}

	// The statement also locks the dead letters that it finds.
	rows, _ := tx.tx.Query(ctx, retriedDeadLettersSQL,
		p.Stream, p.Partition, sequences, deadLetters, storedAt, subjects, digests)
	var sequence uint64
	if _, err := pgx.ForEachRow(rows, []any{&sequence}, func() error { retries[sequence] = true; return nil }); err != nil {
		return nil, fmt.Errorf("retries: %w", err)
	}

	return retries, nil
}

func queueRetries(pipeline *pgx.Batch, c ChangeSet) {
	stream := c.From.Stream
	for _, r := range c.Retries {
		dead := []any{stream, int64(r.DeadLetter.Sequence), r.DeadLetter.StoredAt.Std()}
		if r.Outcome != 0 {
			pipeline.Queue(resolveDeadLetterSQL, append(dead, r.Outcome.String(), int64(r.Sequence))...)
			continue
		}
		pipeline.Queue(failRetrySQL, append(dead, r.Reason)...)
		pipeline.Queue(recordFailureSQL, append(dead, int64(r.Sequence), r.StoredAt, r.Reason)...)
	}
}
