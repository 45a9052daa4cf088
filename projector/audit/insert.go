package audit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/projector/store"
)

//go:embed insert_entries.sql
var insertEntriesSQL string

// insert stores entries whose days are open. If PostgreSQL refuses the data, insert bisects the entries until the refused one is alone,
// and gives its delivery the reason.
func (s *session) insert(ctx context.Context, entries []entry) error {
	if len(entries) == 0 {
		return nil
	}
	err := s.insertAll(ctx, entries)
	switch {
	case err == nil:
		return nil
	case !store.IsDataError(err) || isMissingDay(err):
		return err
	case len(entries) == 1:
		entries[0].delivery.reason = fmt.Sprintf("entry %s: %s", entries[0].ID, store.DataErrorReason(err))
		return nil
	}
	half := len(entries) / 2
	if err := s.insert(ctx, entries[:half]); err != nil {
		return err
	}
	return s.insert(ctx, entries[half:])
}

// isMissingDay reports whether the partition of an entry's day was dropped after this session opened it. The next session opens it
// again.
func isMissingDay(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == pgerrcode.CheckViolation
}

func (s *session) insertAll(ctx context.Context, entries []entry) error {
	tag, err := s.config.Database.Exec(ctx, insertEntriesSQL, columns(entries)...)
	if err != nil {
		return fmt.Errorf("insert audit entries: %w", err)
	}
	s.metrics.filed.Add(float64(tag.RowsAffected()))
	s.metrics.batches.Inc()
	return nil
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
