package registry

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
)

// Replay selects what became fetchable in a range of time.
type Replay struct {
	Endpoint uuid.UUID
	Since    time.Time
	Until    time.Time      // exclusive
	Kinds    []webhook.Kind // nil: those of the endpoint
	Days     int            // for how many days notices are kept
}

var (
	//go:embed covered_systems.sql
	coveredSystemsSQL string

	//go:embed replayed_notices.sql
	replayedNoticesSQL string

	//go:embed replay.sql
	replaySQL string
)

const (
	recordedSinceSQL = `select since from webhook.period where until is null`
	countNoticesSQL  = `select count(*) from ({{notices}}) n`
)

func withNotices(sql string) string {
	return strings.Replace(sql, "{{notices}}", replayedNoticesSQL, 1)
}

// replayed is the audit's state after a replay.
type replayed struct {
	Since      time.Time      `json:"since"`
	Until      time.Time      `json:"until"`
	Kinds      []webhook.Kind `json:"kinds"`
	Deliveries int64          `json:"deliveries"`
}

// Replay creates deliveries of all notices in a range, whether they were delivered before or not, and returns their number. With dryRun it
// only counts. Which phone systems the target covers is looked up now. The error is an [*InvalidError] where the range begins before what is
// kept, or a kind is none of the endpoint's.
func (r *Registry) Replay(ctx context.Context, p Replay, dryRun bool) (count int64, err error) {
	err = r.inTx(ctx, func(tx pgx.Tx) error {
		before, err := lockUnlessRemoved(ctx, tx, p.Endpoint)
		if err != nil {
			return err
		}
		if err := p.complete(before); err != nil {
			return err
		}
		if err := p.checkKept(ctx, tx); err != nil {
			return err
		}
		systems, err := coveredSystems(ctx, tx, before.Target)
		if err != nil {
			return err
		}
		arguments := []any{systems, p.Since, p.Until, p.Kinds}
		if dryRun {
			return tx.QueryRow(ctx, withNotices(countNoticesSQL), arguments...).Scan(&count)
		}
		tag, err := tx.Exec(ctx, withNotices(replaySQL), append(arguments, p.Endpoint)...)
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		count = tag.RowsAffected()
		return r.record(ctx, tx, "replay", p.Endpoint, nil, replayed{p.Since.UTC(), p.Until.UTC(), p.Kinds, count})
	})
	return count, err
}

func coveredSystems(ctx context.Context, tx pgx.Tx, target Target) ([]uuid.UUID, error) {
	rows, _ := tx.Query(ctx, coveredSystemsSQL, target.Kind, target.ID)
	systems, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("phone systems: %w", err)
	}
	return systems, nil
}

// complete sets the kinds, and checks them.
func (p *Replay) complete(s settings) error {
	if p.Kinds == nil {
		p.Kinds = s.Kinds
	}
	for _, kind := range p.Kinds {
		if !slices.Contains(s.Kinds, kind) {
			return &InvalidError{fmt.Sprintf("the endpoint is not registered for %s: change that first by 'webhooks set --kinds'", kind)}
		}
	}
	if !p.Since.Before(p.Until) {
		return &InvalidError{"the range is empty: its end must be after its beginning"}
	}
	return nil
}

// NotKeptError says that a range begins before the notices that are kept.
type NotKeptError struct {
	Since time.Time // of the first that are kept
	Why   string
}

// Error has the instant from which on notices are kept.
func (e *NotKeptError) Error() string {
	return fmt.Sprintf("replay: the range begins before what is kept: %s; begin at %s or later", e.Why, e.Since.UTC().Format(time.RFC3339))
}

func (p *Replay) checkKept(ctx context.Context, tx pgx.Tx) error {
	var since time.Time
	if err := tx.QueryRow(ctx, recordedSinceSQL).Scan(&since); err != nil {
		return fmt.Errorf("beginning of the recording of notices: %w", err)
	}
	if p.Since.Before(since) {
		return &NotKeptError{ceilSecond(since), "events are recorded while there is an endpoint"}
	}
	if oldest := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -p.Days); p.Since.Before(oldest) {
		return &NotKeptError{oldest, fmt.Sprintf("events are kept for %d days", p.Days)}
	}
	return nil
}

// ceilSecond returns the first whole second that is not before t: the error prints seconds.
func ceilSecond(t time.Time) time.Time { return t.Add(time.Second - 1).Truncate(time.Second) }
