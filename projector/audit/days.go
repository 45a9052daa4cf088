package audit

import (
	"context"
	"fmt"
	"time"

	"callboard/projector"
)

const (
	openDaySQL  = "select access.open_audit_day($1)"
	dropDaysSQL = "select access.drop_audit_before($1)"
)

// openDays returns the entries whose day has a partition. It creates the partitions of days that it has not seen. If
// a day cannot be opened, the deliveries of its entries get the reason.
func (s *session) openDays(ctx context.Context, entries []entry) ([]entry, error) {
	storable := make([]entry, 0, len(entries))
	closed := make(map[time.Time]bool)
	for _, e := range entries {
		day := dayOf(e.At)

		// The database is asked once for each day.
		if !s.opened[day] && !closed[day] {
			var open bool
			if err := s.config.Database.QueryRow(ctx, openDaySQL, day).Scan(&open); err != nil {
				return nil, fmt.Errorf("open day: %w", err)
			}
			s.opened[day], closed[day] = open, !open
		}

		// An entry of a detached day becomes a dead letter.
		if closed[day] {
			e.delivery.reason = fmt.Sprintf("entry %s: the partition of its day %s was detached", e.ID,
				day.Format(time.DateOnly))
			continue
		}
		storable = append(storable, e)
	}

	return storable, nil
}

// dayOf returns the beginning of the UTC day of an instant.
func dayOf(at time.Time) time.Time {
	year, month, day := at.UTC().Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

const (
	dropInterval = time.Hour
	dropRetry    = time.Minute
)

// dropOldDays drops the days older than the retention, immediately and then every hour, until ctx ends.
func (w *Writer) dropOldDays(ctx context.Context) {
	for ctx.Err() == nil {
		wait := dropInterval
		if err := w.dropDays(ctx, dayOf(time.Now()).AddDate(0, 0, -w.config.Retention)); unlessEnded(ctx, err) != nil {
			w.metrics.failures.Inc()
			w.config.Log.Error().Err(err).Dur("retry_in", dropRetry).Msg("dropping audit days failed")
			wait = dropRetry
		}
		projector.Pause(ctx, wait)
	}
}

// dropDays drops all days before first. Each statement drops a limited number of them.
func (w *Writer) dropDays(ctx context.Context, first time.Time) error {
	for {
		// Each statement has a timeout of its own, because there can be many days.
		limited, cancel := context.WithTimeout(ctx, batchTimeout)
		var dropped int
		err := w.config.Database.QueryRow(limited, dropDaysSQL, first).Scan(&dropped)
		cancel()
		if err != nil {
			return fmt.Errorf("drop days: %w", err)
		}

		if dropped == 0 {
			return nil
		}

		w.config.Log.Info().Int("days", dropped).Str("before", first.Format(time.DateOnly)).Msg("audit days dropped")
		w.metrics.dropped.Add(float64(dropped))
	}
}
