package rebuild

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/projector/ingest"
	"callboard/projector/store"
	"callboard/schema"
)

// Verify builds the projection, or one phone system of it, from the stream beside the live one, compares the rows, and
// drops what it has built. Writes pause for the snapshot. A projection that another release built is compared in the
// columns that both releases have.
func Verify(ctx context.Context, c Config, system uuid.NullUUID) (result Comparison, err error) {
	err = withLock(ctx, c, func(c Config) error {
		v := &verifier{config: c, system: system}
		return v.build(ctx, func() (err error) {
			c := v.comparer()
			result, err = c.run(ctx)
			result.Unreadable = v.loader.unreadable
			return err
		})
	})
	return result, err
}

// verifier builds rows from the stream beside the live ones, for a verification or a repair.
type verifier struct {
	config Config
	system uuid.NullUUID // that is built alone; none: all are
	source *source
	loader *loader
}

// build builds the rows up to the live positions, does work, and drops them.
func (v *verifier) build(ctx context.Context, work func() error) (err error) {
	v.config.Progress(Progress{Step: StepPlan})
	if v.source, err = newSource(ctx, v.config); err != nil {
		return err
	}

	live, err := livePositions(ctx, v.config)
	if err != nil {
		return err
	}
	if err := v.source.verifyPositions(ctx, live); err != nil {
		return err
	}

	if partition := v.source.partition(v.system.UUID); v.system.Valid && live[partition].Stream == uuid.Nil {
		return fmt.Errorf("partition %d has no position: start a projector", partition)
	}

	create := func(tx pgx.Tx) error { return schema.NewVerification(ctx, tx, v.source.partitions) }
	if err := pgx.BeginFunc(ctx, v.config.Database, create); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.drop(ctx)) }()

	v.loader, err = newLoader(ctx, v.config, v.source, schema.Verification,
		ingest.Replay{System: v.system, KeepNoDeadLetters: true})
	if err != nil {
		return err
	}
	defer v.loader.close()

	if err := v.load(ctx, live); err != nil {
		return err
	}
	return work()
}

// load builds the rows up to live positions.
func (v *verifier) load(ctx context.Context, live map[int16]store.Position) error {
	total, err := v.source.messages(ctx)
	if err != nil {
		return err
	}
	if v.system.Valid {
		total = 0 // not known: most of the messages are of others
	}

	v.loader.onCommit = func(messages int64) { v.config.Progress(Progress{Step: StepLoad, Done: messages, Total: total}) }
	v.loader.onCommit(0)
	defer func() { v.loader.onCommit = nil }()

	if err := v.loader.reach(ctx, live); err != nil {
		return err
	}
	return analyze(ctx, v.loader.pool)
}

func (v *verifier) comparer() *comparer {
	return &comparer{config: v.config, loader: v.loader, schema: schema.Verification, system: v.system}
}

// drop drops what was built, although ctx may have ended.
func (v *verifier) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diskFullTimeout)
	defer cancel()
	return pgx.BeginFunc(ctx, v.config.Database, func(tx pgx.Tx) error { return schema.DropVerification(ctx, tx) })
}
