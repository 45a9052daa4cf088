package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The contract's budgets, in requests a minute of a key (Limits).
const (
	ReportPerMinute   = 120 // for each report operation
	StandardPerMinute = 120 // in the standard tier
)

// StreamName is the name of the stream that holds the counters.
const StreamName = "LIMITS"

const subjectPrefix = "callboard.limits."

// retention is how much longer than a minute the server keeps counters, so that all their permits have returned.
const retention = 5 * time.Second

// StreamConfig returns the configuration of the stream that holds all counters, one message for each lineage. Readers
// create a missing stream with one replica.
func StreamConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              StreamName,
		Description:       "Permits of the last minute, one message for each lineage of keys.",
		Subjects:          []string{subjectPrefix + "*"},
		Storage:           jetstream.MemoryStorage,
		MaxAge:            time.Minute + retention,
		MaxMsgsPerSubject: 1,
		Discard:           jetstream.DiscardOld,
		Replicas:          replicas,
	}
}

// CheckStream returns an error if a running stream's settings lose counters, answer with old ones, or pass messages to
// or from other subjects. Storage and replicas are the operator's choice.
func CheckStream(c jetstream.StreamConfig) error {
	wanted := StreamConfig(1)
	whole := c.MaxAge == wanted.MaxAge && c.MaxMsgsPerSubject == 1 && c.Discard == wanted.Discard &&
		c.Retention == wanted.Retention && c.MaxMsgs <= 0 && c.MaxBytes <= 0 && c.MaxMsgSize <= 0
	separate := slices.Equal(c.Subjects, wanted.Subjects) && c.SubjectTransform == nil && c.RePublish == nil &&
		c.Mirror == nil && len(c.Sources) == 0
	if whole && separate && !c.AllowDirect && !c.NoAck && !c.Sealed {
		return nil
	}
	return errors.New("its settings do not count permits: delete it, and a reader creates it again")
}

// store reads and writes counters in the stream.
type store struct {
	js      jetstream.JetStream
	timeout time.Duration
	stream  atomic.Pointer[jetstream.Stream] // the last one that was looked up
	replies atomic.Uint64                    // how many the server has sent
}

var (
	errConflict     = errors.New("another version of the counters is stored")
	errDisconnected = errors.New("not connected to NATS")
	errNoReply      = errors.New("no reply from NATS in time")
)

// ask waits for a reply of the server, within a timeout. It asks nothing without a connection: a buffered message would
// be sent later, when no caller waits for its reply.
func (s *store) ask(ctx context.Context, timeout time.Duration, question func(context.Context) error) error {
	if !s.js.Conn().IsConnected() {
		return errDisconnected
	}

	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	// The deadline of the request says nothing about the server.
	err := question(asking)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return errNoReply
	}

	// An error that the server has sent is a reply, too.
	var answer *jetstream.APIError
	if err == nil || errors.As(err, &answer) {
		s.replies.Add(1)
	}
	return err
}

// The server's error codes for a message whose expected sequence is wrong.
const (
	wrongSequence          jetstream.ErrorCode = 10071
	wrongSequenceUnchecked jetstream.ErrorCode = 10164 // another write is in progress
)

// write stores a version if the last one has the expected sequence, and returns the version's. Zero expects none. The
// error is [errConflict] if another one is stored, and [errNoReply] if it is not known whether the version was stored.
func (s *store) write(
	ctx context.Context, lineage string, data []byte, expected uint64, timeout time.Duration,
) (sequence uint64, err error) {
	m := &nats.Msg{Subject: subjectPrefix + lineage, Data: data}

	err = s.ask(ctx, timeout, func(ctx context.Context) error {
		ack, err := s.js.PublishMsg(ctx, m,
			jetstream.WithExpectLastSequencePerSubject(expected), jetstream.WithRetryAttempts(0))
		if err == nil {
			sequence = ack.Sequence
		}
		return err
	})
	var answer *jetstream.APIError
	switch {
	case err == nil:
		return sequence, nil

	// Both codes mean that another reader was faster.
	case errors.As(err, &answer) && (answer.ErrorCode == wrongSequence || answer.ErrorCode == wrongSequenceUnchecked):
		return 0, errConflict
	}

	return 0, fmt.Errorf("write counters: %w", err)
}

// swap stores a version in place of the version that it was made from, and returns what is stored then: this version,
// or another one. After an error this version may be stored or not.
func (s *store) swap(ctx context.Context, lineage uuid.UUID, next version) (version, error) {
	data, expected := next.encode(), next.sequence

	// A write without an acknowledgement is repeated once. Each has half of the time, so a slow line is no outage.
	err := errNoReply
	for attempt := 0; attempt < 2 && errors.Is(err, errNoReply); attempt++ {
		next.sequence, err = s.write(ctx, lineage.String(), data, expected, s.timeout/2)
	}

	// The stored version can be this one, if only its acknowledgement was lost.
	if errors.Is(err, errConflict) {
		return s.load(ctx, lineage)
	}
	return next, err
}

// load returns the stored version of a lineage's counters.
func (s *store) load(ctx context.Context, lineage uuid.UUID) (version, error) {
	var found *jetstream.RawStreamMsg
	err := s.ask(ctx, s.timeout, func(ctx context.Context) (err error) {
		found, err = (*s.stream.Load()).GetLastMsgForSubject(ctx, subjectPrefix+lineage.String())
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return version{}, nil
	case err != nil:
		return version{}, fmt.Errorf("read counters: %w", err)
	}

	// A version that can't be decoded is never taken for an empty version.
	stored, err := decode(found.Data)
	return version{stored, found.Sequence}, err
}

// maxLookUp is how long a lookup can take. It bounds what a reader does not know of the time, see [moment].
const maxLookUp = 2 * time.Second

// ensure looks the stream up, creates it if it is missing, and reads the server's clock. The error says also why the
// stream does not count permits. ensure does not change an existing stream, because an operator may have given it more
// replicas.
func (s *store) ensure(ctx context.Context, local func() time.Time) (*sample, error) {
	// The server reads its clock between the two readings of the local clock.
	asked := local()
	var stream jetstream.Stream

	err := s.ask(ctx, min(s.timeout, maxLookUp), func(ctx context.Context) (err error) {
		stream, err = s.js.Stream(ctx, StreamName)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			stream, err = s.js.CreateStream(ctx, StreamConfig(1))
		}
		return err
	})
	if err != nil {
		return nil, err
	}

	info := stream.CachedInfo()
	if err := CheckStream(info.Config); err != nil {
		return nil, fmt.Errorf("stream %s: %w", StreamName, err)
	}

	s.stream.Store(&stream)
	return &sample{asked: asked, answered: local(), server: info.TimeStamp}, nil
}

// probe checks that the server decides about writes. It asks for one that the server must refuse.
func (s *store) probe(ctx context.Context) error {
	_, err := s.write(ctx, "probe", nil, math.MaxInt64, s.timeout)
	if errors.Is(err, errConflict) {
		return nil
	}
	return err
}
