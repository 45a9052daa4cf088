package audit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

var (
	//go:embed select_position.sql
	selectPositionSQL string

	//go:embed move_position.sql
	movePositionSQL string
)

// position is the last message of the stream whose entries are stored.
type position struct {
	sequence uint64
	storedAt time.Time // when the stream stored the message; zero if there is none
}

func (p position) same(other position) bool {
	return p.sequence == other.sequence && p.storedAt.Equal(other.storedAt)
}

// errMoved means that the position is not the expected one: another writer has moved it, or a failover of the
// database has set it back.
var errMoved = errors.New("the position has moved")

// executor is a pool or a transaction.
type executor interface {
	Exec(ctx context.Context, query string, parameters ...any) (pgconn.CommandTag, error)
}

// readPosition returns the recorded position. There is none before the first writer has found the stream.
func (w *Writer) readPosition(ctx context.Context) (p position, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()

	var storedAt *time.Time
	err = w.config.Database.QueryRow(ctx, selectPositionSQL).Scan(&p.sequence, &storedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, false, nil
	}
	if err != nil {
		return p, false, fmt.Errorf("read audit position: %w", err)
	}

	// The position before the first message has no time.
	if storedAt != nil {
		p.storedAt = *storedAt
	}
	return p, true, nil
}

// movePosition moves the recorded position, or records the first one. The error is errMoved if another one than from is
// recorded.
func movePosition(ctx context.Context, db executor, from, to position) error {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()

	// The position before the first message has no time.
	var storedAt *time.Time
	if !to.storedAt.IsZero() {
		storedAt = &to.storedAt
	}

	tag, err := db.Exec(ctx, movePositionSQL, int64(from.sequence), int64(to.sequence), storedAt)
	switch {
	case err != nil:
		return fmt.Errorf("move audit position: %w", err)
	case tag.RowsAffected() == 0:
		return errMoved
	}
	return nil
}

// findPosition returns the stream and the recorded position. Where the stream does not have its message, findPosition
// sets it before the first message. The position is read first: the stream's state must not be older than a position
// that another writer has moved meanwhile. The answer of a server that has lost the lead of the stream, unnoticed,
// can still be older. Then entries are read again, and found stored.
func (w *Writer) findPosition(ctx context.Context) (jetstream.Stream, position, error) {
	recorded, found, err := w.readPosition(ctx)
	if err != nil {
		return nil, position{}, err
	}
	stream, err := w.findStream(ctx)
	if err != nil {
		return nil, position{}, err
	}

	// An answer without a leader says nothing about the stream.
	info := stream.CachedInfo()
	if info.Cluster != nil && info.Cluster.Leader == "" {
		return nil, position{}, fmt.Errorf("stream %s has no leader", events.AuditStream)
	}

	// Before the first record, everything that the stream has is to be stored.
	first := position{sequence: max(info.State.FirstSeq, 1) - 1}
	if !found {
		return stream, first, nil
	}

	// The recorded position counts where the stream has its message.
	if same, err := has(ctx, stream, recorded); same || err != nil {
		return stream, recorded, err
	}

	// The stream was created again or has lost its end, so its messages are stored from the first.
	if err := movePosition(ctx, w.config.Database, recorded, first); err != nil {
		return nil, position{}, err
	}
	w.config.Log.Warn().Str("stream", events.AuditStream).
		Uint64("last_sequence", info.State.LastSeq).Uint64("position", recorded.sequence).
		Msg("audit stream lacks the last stored message: its entries are stored from the first one")
	return stream, first, nil
}

// has reports whether the stream has the message of a position, or had it before it dropped its oldest messages. A
// stream that was created again, or has lost its end, gives its sequence to another message.
func has(ctx context.Context, stream jetstream.Stream, p position) (bool, error) {
	info := stream.CachedInfo()
	switch {
	case info.State.LastSeq < p.sequence:
		return false, nil
	case p.storedAt.IsZero() || p.sequence < info.State.FirstSeq:
		return true, nil
	}

	// The sequence may belong to another message now, so the times are compared.
	m, err := stream.GetMsg(ctx, p.sequence)
	if err != nil {
		return false, fmt.Errorf("message %d of stream %s: %w", p.sequence, events.AuditStream, err)
	}
	return m.Time.Truncate(time.Microsecond).Equal(p.storedAt), nil
}
