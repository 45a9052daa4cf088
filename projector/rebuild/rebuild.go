// Package rebuild builds the projection again from the stream's first event, and compares the live projection with the
// stream.
//
//	rebuild:   plan ─> load ─> index ─> compare ─> correct ─> switch ─> drop the previous one
//	verify:    load ─> compare ─> drop what was built
//	repair:    load one phone system ─> compare ─> replace its rows
//	rollback:  load ─> correct ─> switch
//
// There is one way from a message to a row. A loader builds the rows in a schema beside the live one, by what a
// projector uses, too, from the positions that were committed with the rows, so that an interrupted run is continued.
// It follows the live generation and never overtakes it. PostgreSQL compares the rows of both in one snapshot, which is
// taken in a pause of the live generation's writes, when both have the same positions. The switch pauses writes once
// more and renames two schemas.
package rebuild

import (
	"context"
	"errors"
	"time"
)

// Errors of operations.
var (
	// ErrDiskFull means that PostgreSQL's disk had no room for another generation.
	ErrDiskFull = errors.New("PostgreSQL's disk is full, so the unfinished generation was dropped")
	// ErrNotDropped means that the disk is full and the unfinished generation still occupies it.
	ErrNotDropped = errors.New("PostgreSQL's disk is full, and the unfinished generation could not be dropped")
	// ErrNoPrevious means that there is nothing to roll back to.
	ErrNoPrevious = errors.New("no previous generation: 'callboard rebuild --keep' keeps the one that it replaces")
	// ErrOtherDefinition means that a generation has another release's tables or fold rules.
	ErrOtherDefinition = errors.New("definition mismatch: another release built the generation")
	// ErrUnreadable means that a message was applied once and can no longer be read, so a repair would lose what it
	// said.
	ErrUnreadable = errors.New("the message can no longer be read")
	// ErrUnconfirmed means that the connection or the context ended while a switch or a repair was being committed.
	// While the commit waits for a synchronous standby, PostgreSQL has made it already.
	ErrUnconfirmed = errors.New("the commit was not confirmed, so it may have taken effect")
)

// Result is what a rebuild or a rollback did.
type Result struct {
	Generation     int64      `json:"generation"`   // the live generation now
	Replaced       int64      `json:"replaced"`     // the live generation before
	PreviousKept   bool       `json:"previousKept"` // the replaced generation was not dropped
	Resumed        bool       `json:"resumed"`      // an earlier run had begun the generation
	NewHistory     bool       `json:"newHistory"`   // the live generation was built from another stream: every row has a new updatedAt
	Messages       int64      `json:"messages"`     // applied in this run
	Load           Seconds    `json:"loadSeconds"`  // until the generation was close to the live one
	Index          Seconds    `json:"indexSeconds"`
	Compare        Seconds    `json:"compareSeconds"`
	SnapshotPause  Seconds    `json:"snapshotPauseSeconds"`     // the write pause in which the snapshot for the comparison was taken
	WritePause     Seconds    `json:"writePauseSeconds"`        // the write pause of the switch
	WithoutNotices int        `json:"partitionsWithoutNotices"` // of which no projector has applied some messages, where webhook endpoints exist
	Comparison     Comparison `json:"comparison"`               // with the replaced generation
}

// Seconds is a duration in JSON.
type Seconds float64

func since(start time.Time) Seconds { return Seconds(time.Since(start).Seconds()) }

// Run builds a generation, compares it with the live one and makes it live. It continues an unfinished run. Differences
// are reported and do not stop it: correcting them is the purpose of a rebuild. keep keeps the replaced generation for
// a rollback. After any error but [ErrDiskFull], the next run continues.
func Run(ctx context.Context, c Config, keep bool) (result Result, err error) {
	err = withLock(ctx, c, func(c Config) error {
		b := &builder{config: c, keep: keep}
		err := b.run(ctx)
		result = b.result
		return b.dropOnDiskFull(ctx, err)
	})
	return result, err
}

// Rollback brings the previous generation to the live one's positions and makes it live. The replaced generation
// becomes the previous one, so a second rollback undoes the first.
func Rollback(ctx context.Context, c Config) (result Result, err error) {
	err = withLock(ctx, c, func(c Config) error {
		b := &builder{config: c, keep: true}
		err := b.rollback(ctx)
		result = b.result
		return err
	})
	return result, err
}
