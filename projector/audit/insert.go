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

//go:embed file.sql
var fileSQL string

// file writes entries whose days are open. Where PostgreSQL refuses the data, it halves them until the one at fault is alone, and notes why with its
// message.
func (s *session) file(ctx context.Context, entries []entry) error {
	if len(entries) == 0 {
		return nil
	}
	err := s.insert(ctx, entries)
	switch {
	case err == nil:
		return nil
	case !store.IsDataError(err) || withoutDay(err):
		return err
	case len(entries) == 1:
		entries[0].of.reason = fmt.Sprintf("entry %s: %s", entries[0].ID, store.DataErrorReason(err))
		return nil
	}
	half := len(entries) / 2
	if err := s.file(ctx, entries[:half]); err != nil {
		return err
	}
	return s.file(ctx, entries[half:])
}

// withoutDay tells whether an entry found no place since its day was dropped after this session opened it. Another session opens it
// again.
func withoutDay(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && refusal.Code == pgerrcode.CheckViolation
}

func (s *session) insert(ctx context.Context, entries []entry) error {
	tag, err := s.config.Database.Exec(ctx, fileSQL, columns(entries)...)
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	s.metrics.filed.Add(float64(tag.RowsAffected()))
	s.metrics.batches.Inc()
	return nil
}

// columns are the statement's parameters. uuid.UUID would be encoded by way of text.
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
	}
}

func column[T any](entries []entry, value func(entry) T) []T {
	values := make([]T, len(entries))
	for i, e := range entries {
		values[i] = value(e)
	}
	return values
}
