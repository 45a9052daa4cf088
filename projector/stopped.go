package projector

import (
	"errors"
	"fmt"

	"callboard/projector/store"
)

// StoppedError is a partition that can't go on until an operator has looked: the stream is not the one, or not the whole one,
// that the projection stands for, or the tables aren't this release's. It is retried slowly and reported each time.
type StoppedError struct {
	Reason string // one of the constants below
	Detail string
}

// Reasons to stop.
const (
	StreamIdentityChanged = "STREAM_IDENTITY_CHANGED" // the stream was deleted and created again
	StreamRegressed       = "STREAM_REGRESSED"        // the stream ends before the position
	StreamTruncated       = "STREAM_TRUNCATED"        // messages behind the position's end were removed
	StreamRepartitioned   = "STREAM_REPARTITIONED"    // the stream has another number of partitions than it had
	StreamDirect          = "STREAM_DIRECT"           // replicas that lag may answer for the stream
	ProjectionForeign     = "PROJECTION_FOREIGN"      // the tables are another release's, or were folded by other rules
	MigrationMissing      = "MIGRATION_MISSING"       // not all of this release's migrations have run
)

// Error says what happened and what to do.
func (e *StoppedError) Error() string { return e.Reason + ": " + e.Detail }

var errStalled = errors.New("the consumer stopped delivering while its partition has messages")

// errReconnected is a server that may have lost the end of the stream and grown another meanwhile.
var errReconnected = errors.New("the connection to NATS was lost; the stream is looked at again")

var errForeign = &StoppedError{
	ProjectionForeign,
	"the projection was built by another release, whose projector and readers go on with it; for this one, run 'callboard rebuild'",
}

var errNotMigrated = &StoppedError{MigrationMissing, store.ErrNotMigrated.Error()}

func identityChanged(name string) error {
	return &StoppedError{StreamIdentityChanged, fmt.Sprintf(
		"stream %s was created anew since the projection was built; rebuild the projection, or restore the stream", name)}
}

func regressed(name string, last, position uint64) error {
	return &StoppedError{StreamRegressed, fmt.Sprintf(
		"stream %s ends at sequence %d and the projection stands at %d; restore the stream, or rebuild the projection", name, last, position)}
}

func regrown(name string, message uint64) error {
	return &StoppedError{StreamRegressed, fmt.Sprintf(
		"message %d of stream %s is another than the one that was applied: the stream lost its end and has grown since; rebuild the projection", message, name)}
}

func truncated(name string, first, position uint64) error {
	return &StoppedError{StreamTruncated, fmt.Sprintf(
		"stream %s begins at sequence %d and the projection stands at %d; what lies between is lost: restore the stream", name, first, position)}
}

func repartitioned(name string, first, now int) error {
	return &StoppedError{StreamRepartitioned, fmt.Sprintf(
		"stream %s has %d partitions and had %d when it was read first: a phone system's events would lie in two of them; give it back those that it had, or publish all into a new stream", name, now, first)}
}

func direct(name string) error {
	return &StoppedError{StreamDirect, fmt.Sprintf(
		"stream %s has allow_direct on: a replica that lags could say that no event waits, and lists would miss it; turn it off", name)}
}
