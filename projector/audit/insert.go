package audit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/projector/store"
)

//go:embed insert_entries.sql
var insertEntriesSQL string

// insert stores entries whose days are open, and returns how many were new. If PostgreSQL refuses the data, insert
// bisects the entries until the refused one is alone, and gives its delivery the reason.
func insert(ctx context.Context, tx pgx.Tx, entries []entry) (stored int64, err error) {
	if len(entries) == 0 {
		return 0, nil
	}

	stored, err = insertAll(ctx, tx, entries)
	switch {
	case err == nil:
		return stored, nil
	case !store.IsDataError(err) || isMissingDay(err):
		// A day that was dropped meanwhile is no fault of the entries.
		return 0, err
	case len(entries) == 1:
		entries[0].delivery.reason = fmt.Sprintf("entry %s: %s", entries[0].ID, store.DataErrorReason(err))
		return 0, nil
	}

	// One of several is refused: each half is tried alone.
	half := len(entries) / 2
	first, err := insert(ctx, tx, entries[:half])
	if err != nil {
		return 0, err
	}
	second, err := insert(ctx, tx, entries[half:])
	return first + second, err
}

// isMissingDay reports whether the partition of an entry's day was dropped after this session opened it. The next
// session opens it again.
func isMissingDay(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == pgerrcode.CheckViolation
}

// insertAll has no effect if it fails: the transaction goes on.
func insertAll(ctx context.Context, tx pgx.Tx, entries []entry) (stored int64, err error) {
	err = pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
		tag, err := savepoint.Exec(ctx, insertEntriesSQL, columns(entries)...)
		stored = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("insert audit entries: %w", err)
	}
	return stored, nil
}

// columns returns the statement's parameters, one array per column. pgx would encode uuid.UUID through its text.
func columns(entries []entry) []any {
	return []any{
		column(entries, func(e entry) time.Time { return e.At }),
		column(entries, func(e entry) pgtype.UUID { return pgtype.UUID{Bytes: e.ID, Valid: true} }),
		column(entries, func(e entry) pgtype.UUID { return pgtype.UUID{Bytes: e.KeyID, Valid: true} }),

		column(entries, func(e entry) string { return e.Operation }),
		column(entries, func(e entry) pgtype.UUID { return pgtype.UUID{Bytes: e.System.UUID, Valid: e.System.Valid} }),
		column(entries, func(e entry) int64 { return int64(e.Status) }),
		column(entries, func(e entry) string { return e.Code }),
		column(entries, func(e entry) netip.Addr { return e.Address }),
		column(entries, func(e entry) string { return e.RequestID }),

		// An entry can stand for several requests.
		column(entries, func(e entry) int64 { return e.Requests() }),
		column(entries, func(e entry) pgtype.Timestamptz { return pgtype.Timestamptz{Time: e.LastAt, Valid: !e.LastAt.IsZero()} }),
		column(entries, func(e entry) string { return e.LastRequestID }),
		column(entries, func(e entry) int64 { return max(1, int64(e.Addresses)) }),
	}
}

func column[T any](entries []entry, value func(entry) T) []T {
	values := make([]T, len(entries))
	for i, e := range entries {
		values[i] = value(e)
	}
	return values
}

//go:embed insert_dead_letter.sql
var insertDeadLetterSQL string

func insertDeadLetters(ctx context.Context, tx pgx.Tx, batch []delivery) error {
	for _, d := range batch {
		if d.reason == "" {
			continue
		}
		_, err := tx.Exec(ctx, insertDeadLetterSQL, int64(d.meta.Sequence.Stream), d.Subject(),
			store.EncodeHeader(d.Headers()), d.Data(), d.reason, d.meta.Timestamp)
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
	}
	return nil
}
