// Package rebuild builds the projection again from the stream's first event, and compares the live projection with the stream.
//
//	rebuild:   plan ─> read ─> fold, copy ─> index ─> follow the live generation ─> compare ─> switch ─> drop the previous one
//	verify:    plan ─> read ─> fold, compare with the rows of a snapshot for each part, in the order of their keys
//	repair:    read ─> fold one phone system, replace its rows
//	rollback:  follow the live generation ─> switch
//
// A generation is built in a separate schema, in parts: the stream is read once into files, then some phone systems are folded and copied
// in one transaction, which also records that the part is done. After an interruption, the next run continues with the files and the
// parts that are not done. The generation then follows the live one by its positions and never overtakes it. The comparison merges the
// rows of both in the order of their keys, in slices: each begins with a pause of the live generation's writes, in which both reach the
// same positions, and has a snapshot of both. The switch pauses writes once more and renames two schemas.
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
	// ErrSpoolFull means that the folder of the spool had no room for the stream's messages.
	ErrSpoolFull = errors.New("no room for the messages of the stream, so the spool was deleted")
	// ErrNoPrevious means that there is nothing to roll back to.
	ErrNoPrevious = errors.New("no previous generation: 'callboard rebuild --keep' keeps the one that it replaces")
	// ErrOtherDefinition means that a generation has another release's tables or fold rules.
	ErrOtherDefinition = errors.New("definition mismatch: another release built the generation")
	// ErrUnreadable means that a message was applied once and can no longer be read, so a repair would lose what it said.
	ErrUnreadable = errors.New("the message can no longer be read")
	// ErrTooLarge means that a repair would make the writes of a partition wait for long.
	ErrTooLarge = errors.New("the phone system is too large for a repair")
	// ErrUnconfirmed means that the connection or the context ended while a switch or a repair was being committed. While the commit waits for a
	// synchronous standby, PostgreSQL has made it already.
	ErrUnconfirmed = errors.New("the commit was not confirmed, so it may have taken effect")
)

// Result is what a rebuild or a rollback did.
type Result struct {
	Generation     int64      `json:"generation"`   // the live generation now
	Replaced       int64      `json:"replaced"`     // the live generation before
	PreviousKept   bool       `json:"previousKept"` // the replaced generation was not dropped
	Resumed        bool       `json:"resumed"`      // an earlier run had begun the generation
	NewHistory     bool       `json:"newHistory"`   // the live generation was built from another stream: every row has a new updatedAt
	Messages       int64      `json:"messages"`     // folded in this run
	Rows           int64      `json:"rows"`         // copied in this run
	Followed       int64      `json:"followed"`     // messages applied while following the live generation
	Read           Seconds    `json:"readSeconds"`  // from the stream to the files
	Fold           Seconds    `json:"foldSeconds"`
	Index          Seconds    `json:"indexSeconds"`
	Follow         Seconds    `json:"followSeconds"`
	Compare        Seconds    `json:"compareSeconds"`
	SnapshotPause  Seconds    `json:"snapshotPauseSeconds"`   // the longest write pause in which snapshots for the comparison were taken
	SnapshotPauses int        `json:"snapshotPauses"`         // how many there were
	WritePause     Seconds    `json:"writePauseSeconds"`      // the write pause of the switch
	Distrusted     int64      `json:"distrustedMessages"`     // that count as stored earlier than the stream says, since this run
	WithoutNotices int64      `json:"messagesWithoutNotices"` // that no projector has applied, where webhook endpoints exist
	Comparison     Comparison `json:"comparison"`             // with the replaced generation
}

// Seconds is a duration in JSON.
type Seconds float64

func since(start time.Time) Seconds { return Seconds(time.Since(start).Seconds()) }

// Run builds a generation, compares it with the live one and makes it live. It continues an unfinished run. Differences are reported
// and do not stop it: correcting them is the purpose of a rebuild. keep keeps the replaced generation for a rollback. After any error
// but [ErrDiskFull], the next run continues.
func Run(ctx context.Context, c Config, keep bool) (result Result, err error) {
	err = withLock(ctx, c, false, func(c Config) error {
		b := &builder{config: c, keep: keep}
		err := b.run(ctx)
		result = b.result
		return b.dropOnDiskFull(ctx, err)
	})
	return result, err
}

// Rollback brings the previous generation to the live one's positions and makes it live. The replaced generation becomes the previous
// one, so a second rollback undoes the first.
func Rollback(ctx context.Context, c Config) (result Result, err error) {
	err = withLock(ctx, c, false, func(c Config) error {
		b := &builder{config: c, keep: true}
		err := b.rollback(ctx)
		result = b.result
		return err
	})
	return result, err
}
