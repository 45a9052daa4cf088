package audit

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"callboard/projector/retry"
)

var (
	//go:embed open_day.sql
	openDaySQL string

	//go:embed drop_days.sql
	dropDaysSQL string
)

// placed are the entries whose day has a place. Days that are new to the session are opened, each by itself; an entry whose day
// can't be opened is noted with its message.
func (s *session) placed(ctx context.Context, entries []entry) ([]entry, error) {
	placed := make([]entry, 0, len(entries))
	closed := make(map[time.Time]bool)
	for _, e := range entries {
		day := dayOf(e.At)
		if !s.opened[day] && !closed[day] {
			open, err := s.openDay(ctx, day)
			if err != nil {
				return nil, err
			}
			s.opened[day], closed[day] = open, !open
		}
		if closed[day] {
			e.of.reason = fmt.Sprintf("entry %s: the audit has no place for %s, whose table was detached", e.ID, day.Format(time.DateOnly))
			continue
		}
		placed = append(placed, e)
	}
	return placed, nil
}

func (s *session) openDay(ctx context.Context, day time.Time) (open bool, err error) {
	if err := s.config.Database.QueryRow(ctx, openDaySQL, day).Scan(&open); err != nil {
		return false, fmt.Errorf("open day: %w", err)
	}
	return open, nil
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
func (f *Writer) forget(ctx context.Context) {
	for ctx.Err() == nil {
		wait := dropInterval
		if err := f.dropDays(ctx, dayOf(time.Now()).AddDate(0, 0, -f.config.Retention)); unlessDone(ctx, err) != nil {
			f.metrics.failures.Inc()
			f.config.Log.Error().Err(err).Dur("retry_in", dropRetry).Msg("audit days can't be dropped")
			wait = dropRetry
		}
		retry.Pause(ctx, wait)
	}
}

// dropDays drops the days before first, some at a time.
func (f *Writer) dropDays(ctx context.Context, first time.Time) error {
	for {
		var dropped int
		if err := f.config.Database.QueryRow(ctx, dropDaysSQL, first).Scan(&dropped); err != nil {
			return fmt.Errorf("drop days: %w", err)
		}
		if dropped == 0 {
			return nil
		}
		f.config.Log.Info().Int("days", dropped).Str("before", first.Format(time.DateOnly)).Msg("audit days dropped")
		f.metrics.dropped.Add(float64(dropped))
	}
}
