package rebuild

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

var (
	//go:embed record_correction.sql
	recordCorrectionSQL string

	//go:embed corrected_since.sql
	correctedSinceSQL string
)

const (
	// firstMargin is how long after the watermark corrections are, at first. The switch must come before.
	firstMargin = 500 * time.Millisecond
	// maxMargin limits the margin, which doubles until the switch is in time.
	maxMargin = 5 * time.Minute
)

// errLate is a switch that comes when a watermark has reached the time of a correction. Clients may have passed it.
var errLate = errors.New("the corrections took longer than expected")

// correctAndReplace gives the calls of changed phone systems a later updatedAt in the next generation, then makes that
// live. Clients which walk by updatedAt read these calls again.
func (b *builder) correctAndReplace(ctx context.Context) error {
	for margin := firstMargin; ; margin *= 2 {
		if err := b.correct(ctx, margin); err != nil {
			return err
		}
		if err := b.replace(ctx); !errors.Is(err, errLate) || margin > maxMargin {
			return err
		}
	}
}

// correct gives calls a time that is a margin after the live watermark.
func (b *builder) correct(ctx context.Context, margin time.Duration) error {
	live, err := livePositions(ctx, b.config)
	if err != nil {
		return err
	}

	b.corrections = make(fold.Corrections)
	for _, system := range b.changed {
		// A partition that had applied nothing has promised nothing.
		if p := live[b.source.partition(system)]; p.Sequence > 0 {
			b.corrections[system] = p.Clock.Watermark + events.Time(margin.Milliseconds())
		}
	}
	return b.loader.correct(ctx, b.corrections)
}

// recordCorrections records the corrections that the next generation has, during the write pause of the switch.
func (b *builder) recordCorrections(ctx context.Context, tx pgx.Tx) error {
	live, err := store.Positions(ctx, tx.Conn(), liveSchema)
	if err != nil {
		return err
	}

	// Calls that were written since the comparison need a correction, too. The next attempt includes their phone
	// systems.
	if missing := b.uncorrected(live); len(missing) > 0 {
		b.changed = append(b.changed, missing...)
		return errLate
	}

	// A client may have read up to the watermark, and would miss a correction at or before it.
	for system, at := range b.corrections {
		if at <= live[b.source.partition(system)].Clock.Watermark {
			return errLate
		}

		if err := recordCorrection(ctx, tx, b.source, system, at); err != nil {
			return err
		}
	}
	return nil
}

// uncorrected returns the phone systems of which calls were written since the snapshot, if the comparison has found
// anything, and which have no correction: these rows were not compared.
func (b *builder) uncorrected(live map[int16]store.Position) (systems []uuid.UUID) {
	if found := b.result.Comparison; !found.Differs() && !found.OtherDefinition {
		return nil
	}
	for system := range b.loader.touched {
		_, corrected := b.corrections[system]
		if !corrected && live[b.source.partition(system)].Sequence > 0 {
			systems = append(systems, system)
		}
	}
	return systems
}

func recordCorrection(ctx context.Context, tx pgx.Tx, s *source, system uuid.UUID, at events.Time) error {
	if _, err := tx.Exec(ctx, recordCorrectionSQL, s.ID, s.partition(system), system, at.Std()); err != nil {
		return fmt.Errorf("record the correction of phone system %s: %w", system, err)
	}
	return nil
}

// correctedSince returns the phone systems whose calls were corrected after a time. A generation that went live then
// shows what they showed before.
func correctedSince(ctx context.Context, conn *pgx.Conn, s *source, since time.Time) ([]uuid.UUID, error) {
	rows, _ := conn.Query(ctx, correctedSinceSQL, s.ID, since)
	systems, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (id uuid.UUID, err error) {
		err = row.Scan((*[16]byte)(&id))
		return id, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the corrections: %w", err)
	}
	return systems, nil
}
