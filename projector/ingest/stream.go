package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/store"
)

// StopError stops a partition until an operator acts: the stream isn't the one, or isn't whole any more, from which the
// projection was built, or the database isn't this release's.
type StopError struct {
	Reason string // one of the constants below
	Detail string // what happened, and what to do
}

// The reasons to stop.
const (
	StreamIdentityChanged = "STREAM_IDENTITY_CHANGED" // the projection was built from another stream
	StreamRegressed       = "STREAM_REGRESSED"        // the stream lost messages that were applied
	StreamTruncated       = "STREAM_TRUNCATED"        // messages above the position were removed
	StreamRepartitioned   = "STREAM_REPARTITIONED"    // the number of partitions changed
	StreamDirect          = "STREAM_DIRECT"           // replicas that lag may answer for the stream
	DefinitionMismatch    = "DEFINITION_MISMATCH"     // the projection has another release's definition
	MigrationMissing      = "MIGRATION_MISSING"       // not all migrations of this release have run
)

// Error implements error.
func (e *StopError) Error() string { return e.Reason + ": " + e.Detail }

// MayBeStale tells whether the answer of a former leader, which lacks the newest messages, can have caused the error.
func (e *StopError) MayBeStale() bool {
	return e.Reason == StreamIdentityChanged || e.Reason == StreamRegressed || e.Reason == StreamTruncated
}

func stop(reason, format string, arguments ...any) error {
	return &StopError{reason, fmt.Sprintf(format, arguments...)}
}

// StreamReplaced returns the [StopError] of a stream that the projection was not built from.
func StreamReplaced(name string) error {
	return stop(StreamIdentityChanged,
		"the projection was not built from stream %s, whose metadata has another UUID; "+
			"set CALLBOARD_STREAM to the stream that it was built from; "+
			"if that one was deleted and created again, restore it, or run 'callboard rebuild', "+
			"which builds from the new one", name)
}

// CheckPartitions compares the number of a stream's partitions with the number that it had when it was first read; 0:
// it was never read. The error is a [StopError] where they differ.
func (s Source) CheckPartitions(registered int) error {
	now, err := s.Partitions()
	if err == nil && registered != 0 && now != registered {
		return stop(StreamRepartitioned, "stream %s has %d partitions and had %d when it was first read, "+
			"so the events of a phone system "+
			"would be in two partitions; restore the former number, or publish all events into a new "+
			"stream", s.Name(), now, registered)
	}
	return err
}

// CheckLeader refuses an answer about a stream that a server without a leader gave: it can know less than the stream
// has. It is an error of the moment.
func CheckLeader(info *jetstream.StreamInfo) error {
	if info.Cluster != nil && info.Cluster.Leader == "" {
		return fmt.Errorf("stream %s has no leader at the moment", info.Config.Name)
	}
	return nil
}

// CheckPosition compares the stream, as its cached information describes it, with a position. The error is a
// [StopError] where the partition must not continue. registered is the number of partitions that the stream had when it
// was first read.
func (s Source) CheckPosition(ctx context.Context, p store.Position, registered int) error {
	info := s.CachedInfo()
	if err := CheckLeader(info); err != nil {
		return err
	}

	name, state := info.Config.Name, info.State
	id, err := events.StreamID(info.Config)
	switch {
	case err != nil:
		return err
	case p.Stream != id:
		return StreamReplaced(name)
	case info.Config.AllowDirect:
		return stop(StreamDirect,
			"stream %s has allow_direct on, so a replica that lags may answer for it; "+
				"run 'nats stream edit %[1]s --no-allow-direct'", name)
	}

	if err := s.CheckPartitions(registered); err != nil {
		return err
	}

	if state.FirstSeq > p.Sequence+1 {
		return stop(StreamTruncated, "stream %s begins at sequence %d and the position is %d: "+
			"the messages between them are gone; restore them: "+
			"nothing else brings them back", name, state.FirstSeq, p.Sequence)
	}

	// The last check needs a request. All other checks use the cached information.
	intact, err := s.IntactUpTo(ctx, p)
	if err == nil && !intact {
		return stop(StreamRegressed, "stream %s ends at sequence %d and has lost messages up to the position, %d; "+
			"restore the stream, or run "+
			"'callboard rebuild'", name, state.LastSeq, p.Sequence)
	}
	return err
}

// WithinBounds tells whether a position is of the stream, as info describes it, and the stream has every message above
// it. It needs no request; [Source.CheckPosition] says what is wrong.
func (s Source) WithinBounds(info *jetstream.StreamInfo, p store.Position) bool {
	id, err := events.StreamID(info.Config)
	return err == nil && p.Stream == id && info.State.FirstSeq <= p.Sequence+1 && p.Sequence <= info.State.LastSeq
}

// IntactUpTo tells whether the stream still has the message that was applied last. A server that lost the end of a
// stream gives its sequences to other messages. A message that was removed, by itself or with all before it, counts as
// intact.
func (s Source) IntactUpTo(ctx context.Context, p store.Position) (bool, error) {
	state := s.CachedInfo().State
	if state.LastSeq < p.Sequence {
		return false, nil
	}

	if p.LastMessage == 0 || p.LastMessage < state.FirstSeq {
		return true, nil
	}

	// The storage time shows whether another message has the sequence now.
	m, err := s.GetMsg(ctx, p.LastMessage)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return true, nil // removed by itself: a stream that lost its end would have ended before it
	case err != nil:
		return false, fmt.Errorf("message %d: %w", p.LastMessage, err)
	}
	return events.TimeOf(m.Time) == p.LastMessageAt, nil
}
