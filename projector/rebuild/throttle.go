package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/projector"
)

//go:embed owned_lag.sql
var ownedLagSQL string

// ownedPartitionsSQL selects the partitions that a projector owns.
const ownedPartitionsSQL = "select coalesce(array_agg(partition::smallint), '{}') from control.partition_owner"

// throttle makes work wait while the live projection lags. Several goroutines share one.
//
// The lag of a partition is the age of its watermark. A partition counts while a projector holds its lock and its
// watermark moves: a worker that stops with a reason releases the lock, and an owner that is frozen or hangs no longer
// moves the watermark. Neither holds work back, because neither catches up by waiting. The clocks of PostgreSQL and of
// NATS must agree to within the limit.
type throttle struct {
	database *pgxpool.Pool
	limit    time.Duration // 0: no limit
	report   func(reason string)

	mu     sync.Mutex // guards what follows; a waiting goroutine holds it, so the others wait too
	readAt time.Time
	seen   map[int16]movement
}

// movement is the last change of a watermark that was seen.
type movement struct {
	watermark time.Time
	at        time.Time
}

const (
	// lagInterval is the time between two readings of the lag.
	lagInterval = time.Second
	// idleAge is the highest age of an idle partition's watermark: a projector advances it every second.
	idleAge = 2 * time.Second
	// stalledAfter is how long a watermark that does not move counts.
	stalledAfter = 30 * time.Second
)

func newThrottle(c Config) *throttle {
	return &throttle{database: c.Database, limit: c.MaxLiveLag, report: c.Throttled, seen: make(map[int16]movement)}
}

// ownedLag is the lag of a partition that a projector owns.
type ownedLag struct {
	Partition int16
	Watermark time.Time
	Seconds   float64
}

func (l ownedLag) duration() time.Duration { return time.Duration(l.Seconds * float64(time.Second)) }

// wait returns at once while no lag is above the limit. Otherwise it returns when every lag is at most half of it.
func (t *throttle) wait(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	// One reading of the lag serves all goroutines for an interval.
	if t.limit == 0 || time.Since(t.readAt) < lagInterval {
		return ctx.Err()
	}

	highest, err := t.highest(ctx)
	if err != nil || highest.duration() <= max(t.limit, idleAge) {
		return err
	}

	// The lower limit keeps the work from waiting again at once.
	defer t.report("")
	for highest.duration() > max(t.limit/2, idleAge) {
		t.report(fmt.Sprintf("waiting for the live projection: partition %d lags by %.1fs", highest.Partition,
			highest.Seconds))
		projector.Pause(ctx, lagInterval)

		if err := ctx.Err(); err != nil {
			return err
		}
		if highest, err = t.highest(ctx); err != nil {
			return err
		}
	}

	return nil
}

// highest returns the highest lag of the partitions that count.
func (t *throttle) highest(ctx context.Context) (highest ownedLag, err error) {
	lags, err := t.read(ctx)
	if err != nil {
		return highest, fmt.Errorf("lag of the live projection: %w", err)
	}
	t.readAt = time.Now()
	for _, lag := range lags {
		if t.moves(lag) && lag.Seconds > highest.Seconds {
			highest = lag
		}
	}
	return highest, nil
}

func (t *throttle) read(ctx context.Context) ([]ownedLag, error) {
	// Not in one statement: nodes do not have the view of owners.
	var owned []int16
	if err := t.database.QueryRow(ctx, ownedPartitionsSQL).Scan(&owned); err != nil {
		return nil, err
	}
	rows, _ := t.database.Query(ctx, ownedLagSQL, owned)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[ownedLag])
}

// moves reports whether the watermark has moved within [stalledAfter].
func (t *throttle) moves(lag ownedLag) bool {
	last, known := t.seen[lag.Partition]
	if !known || !last.watermark.Equal(lag.Watermark) {
		t.seen[lag.Partition] = movement{lag.Watermark, t.readAt}
		return true
	}
	return t.readAt.Sub(last.at) < stalledAfter
}
