package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"

	"callboard/schema"
)

//go:embed read_stream.sql
var readStreamSQL string

const adoptStreamSQL = "insert into control.adopted_stream (stream, stream_created, history, history_created) values ($1, $2, $3, $4)"

// readStreamTimeout limits the statement. Requests to NATS beside it have the client's own limit, as long as their context has none.
const readStreamTimeout = time.Minute

// ReadStream returns the stream that is read of the history to which a stream belongs, and the identity under which positions and decisions about
// the history are recorded. Both are the stream itself where none was adopted in its place, and in a database without this release's
// migrations. A stream that is gone has no time of creation; then adopted tells whether another one has its place.
func ReadStream(ctx context.Context, db RowQuerier, stream Stream) (read, history Stream, adopted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readStreamTimeout)
	defer cancel()
	var created *time.Time
	if !stream.Created.IsZero() {
		created = &stream.Created
	}
	err = db.QueryRow(ctx, readStreamSQL, stream.Name, created).Scan(&read.Name, &read.Created, &history.Name, &history.Created)
	switch {
	case errors.Is(err, pgx.ErrNoRows), schema.HasCode(err, pgerrcode.UndefinedTable):
		return stream, stream, false, nil
	case err != nil:
		return stream, stream, false, fmt.Errorf("adopted streams: %w", err)
	}
	return read, history, true, nil
}

// RowQuerier is a pool, a connection or a transaction.
type RowQuerier interface {
	QueryRow(ctx context.Context, query string, parameters ...any) pgx.Row
}

// AdoptStream makes a stream the one that is read of a history.
func AdoptStream(ctx context.Context, tx pgx.Tx, stream, history Stream) error {
	if _, err := tx.Exec(ctx, adoptStreamSQL, stream.Name, stream.Created, history.Name, history.Created); err != nil {
		return fmt.Errorf("adopt stream %s: %w", stream.Name, err)
	}
	return nil
}
