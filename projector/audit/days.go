package audit

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"
)

var (
	//go:embed open_days.sql
	openDaysSQL string

	//go:embed drop_days.sql
	dropDaysSQL string
)

// openDays makes room for the days of entries that are new to the session.
func (s *session) openDays(ctx context.Context, entries []entry) error {
	var days []time.Time
	for _, e := range entries {
		if day := dayOf(e.At); !s.opened[day] && !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	if len(days) == 0 {
		return nil
	}
	if _, err := s.config.Database.Exec(ctx, openDaysSQL, days); err != nil {
		return fmt.Errorf("open days: %w", err)
	}
	for _, day := range days {
		s.opened[day] = true
	}
	return nil
}

// dayOf is the day of UTC that an instant lies in.
func dayOf(at time.Time) time.Time {
	year, month, day := at.UTC().Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

const (
	dropInterval = time.Hour
	dropRetry    = time.Minute
)

// forget drops the days that are over, at once and then every hour, until ctx ends.
func (f *Filer) forget(ctx context.Context) {
	for ctx.Err() == nil {
		wait := dropInterval
		if err := f.dropDays(ctx, dayOf(time.Now()).AddDate(0, 0, -f.config.Retention)); unlessDone(ctx, err) != nil {
			f.metrics.failures.Inc()
			f.config.Log.Error().Err(err).Dur("retry_in", dropRetry).Msg("audit days can't be dropped")
			wait = dropRetry
		}
		pause(ctx, wait)
	}
}

// dropDays drops the days before first.
func (f *Filer) dropDays(ctx context.Context, first time.Time) error {
	var dropped int
	if err := f.config.Database.QueryRow(ctx, dropDaysSQL, first).Scan(&dropped); err != nil {
		return fmt.Errorf("drop days: %w", err)
	}
	if dropped > 0 {
		f.config.Log.Info().Int("days", dropped).Str("before", first.Format(time.DateOnly)).Msg("audit days dropped")
	}
	f.metrics.dropped.Add(float64(dropped))
	return nil
}
