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

	MaxPerMinute = math.MaxInt32 // the largest allowance that can be configured
)

// StreamName is the name of the stream that holds the counters.
const StreamName = "LIMITS"

const (
	subjectPrefix = "callboard.limits."
	anyLineage    = subjectPrefix + "*"
)

// retention is how much longer than a minute the server keeps counters, so that all their permits have returned.
const retention = 5 * time.Second

// StreamConfig returns the configuration of the stream that holds all counters, one message for each lineage. Readers
// create a missing stream with one replica.
func StreamConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              StreamName,
		Description:       "Permits of the last minute, one message for each lineage of keys.",
		Subjects:          []string{anyLineage},
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
	replied atomic.Pointer[time.Time]        // when the server last replied; nil: never
}

func newStore(c Config) *store {
	return &store{js: c.JetStream, timeout: c.Timeout}
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
	err := question(asking)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return errNoReply
	}
	var answer *jetstream.APIError
	if err == nil || errors.As(err, &answer) {
		s.replied.Store(new(time.Now()))
	}
	return err
}

// repliedBefore reports whether the server's last reply is older than an instant.
func (s *store) repliedBefore(t time.Time) bool {
	replied := s.replied.Load()
	return replied == nil || replied.Before(t)
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
	case errors.As(err, &answer) && (answer.ErrorCode == wrongSequence || answer.ErrorCode == wrongSequenceUnchecked):
		return 0, errConflict
	}
	return 0, fmt.Errorf("write counters: %w", err)
}

// load returns the stored version of a lineage's counters.
func (s *store) load(ctx context.Context, lineage uuid.UUID, timeout time.Duration) (version, error) {
	var found *jetstream.RawStreamMsg
	err := s.ask(ctx, timeout, func(ctx context.Context) (err error) {
		found, err = (*s.stream.Load()).GetLastMsgForSubject(ctx, subjectPrefix+lineage.String())
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return version{}, nil
	case err != nil:
		return version{}, fmt.Errorf("read counters: %w", err)
	}
	v, err := decode(found.Data)
	v.sequence = found.Sequence
	return v, err
}

// maxLookUp is how long a lookup can take. It bounds what a reader does not know of the time, see [moment].
const maxLookUp = 2 * time.Second

// ensure looks the stream up, creates it if it is missing, and reads the server's clock. The error says also why the
// stream does not count permits. ensure does not change an existing stream, because an operator may have given it more
// replicas.
func (s *store) ensure(ctx context.Context, local func() time.Time) (*sample, error) {
	if !s.js.Conn().IsConnected() {
		return nil, errDisconnected
	}
	ctx, cancel := context.WithTimeout(ctx, min(s.timeout, maxLookUp))
	defer cancel()
	asked := local()
	stream, err := s.js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		asked = local()
		stream, err = s.js.CreateStream(ctx, StreamConfig(1))
	}
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

// probe checks that the server decides about writes. It asks for one that it must refuse.
func (s *store) probe(ctx context.Context) error {
	_, err := s.write(ctx, "probe", nil, math.MaxInt64, s.timeout)
	if errors.Is(err, errConflict) {
		return nil
	}
	if err == nil {
		return errors.New("the server stored a message in spite of its expected sequence")
	}
	return err
}
