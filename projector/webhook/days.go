package webhook

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"callboard/projector/retry"
)

const (
	daysInterval = time.Hour
	daysRetry    = time.Minute

	// expireSlice bounds the rows of a transaction that skips what has waited too long.
	expireSlice = 5000
)

var (
	//go:embed expire.sql
	expireSQL string

	//go:embed delete_removed.sql
	deleteRemovedSQL string
)

const (
	openDaySQL    = "select webhook.open_day($1, $2::date)"
	dropBeforeSQL = "select webhook.drop_before($1::date)"
	dropTestsSQL  = "delete from webhook.test where requested_at < now() - interval '1 hour'"
)

// maintainDays creates the tables of days ahead and drops what is older than the history, at once and then every hour, until ctx ends.
func (s *Sender) maintainDays(ctx context.Context) {
	for ctx.Err() == nil {
		wait := daysInterval
		if err := s.maintainDaysOnce(ctx, time.Now().UTC()); err != nil && ctx.Err() == nil {
			wait = daysRetry
			s.config.Log.Error().Err(err).Dur("retry_in", wait).Msg("webhook table maintenance failed")
		}
		retry.Pause(ctx, wait)
	}
}

func (s *Sender) maintainDaysOnce(ctx context.Context, now time.Time) error {
	for days := range 3 {
		if err := s.openDay(ctx, now.AddDate(0, 0, days)); err != nil {
			return err
		}
	}
	first := now.AddDate(0, 0, -s.config.Days).Truncate(24 * time.Hour)
	if err := s.expire(ctx, first); err != nil {
		return err
	}
	for dropped := true; dropped; {
		if err := s.queryBool(ctx, &dropped, dropBeforeSQL, first); err != nil {
			return fmt.Errorf("drop webhook days: %w", err)
		}
	}
	if _, err := s.exec(ctx, dropTestsSQL); err != nil {
		return fmt.Errorf("drop webhook tests: %w", err)
	}
	if _, err := s.exec(ctx, deleteRemovedSQL, first); err != nil {
		return fmt.Errorf("delete removed webhook endpoints: %w", err)
	}
	return nil
}

// openDay creates the tables of a day, each in a transaction.
func (s *Sender) openDay(ctx context.Context, day time.Time) error {
	for _, kind := range []string{"notice", "finished", "attempt"} {
		var open bool
		if err := s.queryBool(ctx, &open, openDaySQL, kind, day); err != nil {
			return fmt.Errorf("open webhook day: %w", err)
		}
		if !open {
			s.config.Log.Warn().Str("table", kind).Str("day", day.Format(time.DateOnly)).
				Msg("no table for a webhook day: its rows are in the default partition")
		}
	}
	return nil
}

// expire skips what has waited for longer than the history is stored.
func (s *Sender) expire(ctx context.Context, before time.Time) error {
	for n := int64(expireSlice); n == expireSlice; {
		var err error
		if n, err = s.exec(ctx, expireSQL, before, expireSlice); err != nil {
			return fmt.Errorf("skip deliveries that waited too long: %w", err)
		}
		s.metrics.skipped.WithLabelValues(reasonExpired).Add(float64(n))
		s.metrics.deliveries.WithLabelValues("skipped").Add(float64(n))
	}
	return nil
}

// queryBool executes a statement that returns a single value.
func (s *Sender) queryBool(ctx context.Context, value *bool, sql string, arguments ...any) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	return s.config.Database.QueryRow(ctx, sql, arguments...).Scan(value)
}

// exec executes a statement, and returns how many rows it changed.
func (s *Sender) exec(ctx context.Context, sql string, arguments ...any) (rows int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	tag, err := s.config.Database.Exec(ctx, sql, arguments...)
	return tag.RowsAffected(), err
}
