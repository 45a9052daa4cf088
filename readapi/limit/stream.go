package limit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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

// StreamName is the name of the stream that holds the logs.
const StreamName = "LIMITS"

const (
	subjectPrefix = "callboard.limits."
	anyLineage    = subjectPrefix + "*"
)

// logRetention is how much longer than a window the server keeps a log, so that a log is gone only when all its permits have expired.
const logRetention = 5 * time.Second

// StreamConfig returns the configuration of the stream that holds all logs, one message each. Readers create a missing stream with one
// replica.
func StreamConfig(replicas int) jetstream.StreamConfig { return streamConfig(defaultWindow, replicas) }

func streamConfig(window time.Duration, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              StreamName,
		Description:       fmt.Sprintf("Permits of the last %s, one log per lineage of keys.", window),
		Subjects:          []string{anyLineage},
		Storage:           jetstream.MemoryStorage,
		MaxAge:            window + logRetention,
		MaxMsgsPerSubject: 1,
		Discard:           jetstream.DiscardOld,
		Replicas:          replicas,
	}
}

// CheckStream returns an error if a running stream's settings lose logs, answer with old ones, or pass messages to or from other
// subjects. Storage and replicas are the operator's choice.
func CheckStream(running jetstream.StreamConfig) error { return checkStream(running, StreamConfig(1)) }

func checkStream(c, wanted jetstream.StreamConfig) error {
	whole := c.MaxAge == wanted.MaxAge && c.MaxMsgsPerSubject == 1 && c.Discard == wanted.Discard && c.Retention == wanted.Retention &&
		c.MaxMsgs <= 0 && c.MaxBytes <= 0 && c.MaxMsgSize <= 0
	separate := slices.Equal(c.Subjects, wanted.Subjects) && c.SubjectTransform == nil && c.RePublish == nil && c.Mirror == nil && len(c.Sources) == 0
	if whole && separate && !c.AllowDirect && !c.NoAck && !c.Sealed {
		return nil
	}
	return errors.New("its settings do not count permits: delete it, and a reader creates it again")
}

// store reads and writes the logs in the stream.
type store struct {
	js      jetstream.JetStream
	conn    *nats.Conn
	config  jetstream.StreamConfig
	read    string        // subject of requests for a log
	replied atomic.Int64  // when the server last replied, in nanoseconds since began
	began   time.Time     // local
	timeout time.Duration // for a reply
}

func newStore(c Config) *store {
	js := c.JetStream
	return &store{
		js: js, conn: js.Conn(), config: streamConfig(c.window, 1), read: apiPrefix(js.Options()) + "STREAM.MSG.GET." + StreamName,
		began: time.Now(), timeout: c.Timeout,
	}
}

// apiPrefix returns the prefix of the subjects of JetStream's API.
func apiPrefix(o jetstream.JetStreamOptions) string {
	switch {
	case o.APIPrefix != "":
		return strings.TrimSuffix(o.APIPrefix, ".") + "."
	case o.Domain != "":
		return "$JS." + o.Domain + ".API."
	}
	return jetstream.DefaultAPIPrefix
}

var (
	errConflict     = errors.New("another version of the log is stored")
	errDisconnected = errors.New("not connected to NATS")
	errNoReply      = errors.New("no reply from NATS in time")
)

// natsUnavailable reports whether an error means that NATS decides about no lineage, whatever it is asked.
func natsUnavailable(err error) bool {
	return errors.Is(err, errDisconnected) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrStreamNotFound) ||
		errors.Is(err, nats.ErrConnectionClosed)
}

// retryable reports whether an error means that the server may reply to the same request later.
func retryable(err error) bool {
	return errors.Is(err, errNoReply) || errors.Is(err, errDisconnected) || errors.Is(err, nats.ErrNoResponders)
}

// request sends a message and returns the reply. It sends nothing without a connection: a buffered message would be sent later, when
// no caller waits for its reply.
func (s *store) request(m *nats.Msg, timeout time.Duration) ([]byte, error) {
	if !s.conn.IsConnected() {
		return nil, errDisconnected
	}
	reply, err := s.conn.RequestMsg(m, timeout)
	if errors.Is(err, nats.ErrTimeout) {
		return nil, errNoReply
	}
	if err != nil {
		return nil, err
	}
	s.replied.Store(int64(time.Since(s.began)))
	return reply.Data, nil
}

// repliedBefore reports whether the server's last reply is older than an instant.
func (s *store) repliedBefore(t time.Time) bool {
	return s.began.Add(time.Duration(s.replied.Load())).Before(t)
}

// The server's error codes for a message whose expected sequence is wrong.
const (
	wrongSequence          jetstream.ErrorCode = 10071
	wrongSequenceUnchecked jetstream.ErrorCode = 10164 // another write is in progress
)

// write stores a version of a log if the last one has the expected sequence, and returns the version's. Zero expects none. The error is
// [errConflict] if another one is stored, [errNoReply] if it is not known whether the version was stored; otherwise nothing was stored.
func (s *store) write(lineage string, data []byte, expected uint64, timeout time.Duration) (uint64, error) {
	m := nats.NewMsg(subjectPrefix + lineage)
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(expected, 10))
	m.Data = data
	reply, err := s.request(m, timeout)
	if err != nil {
		return 0, err
	}
	var ack struct {
		Sequence uint64              `json:"seq"`
		Error    *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply, &ack); err != nil {
		return 0, fmt.Errorf("acknowledgement: %w", err)
	}
	switch {
	case ack.Error == nil:
		return ack.Sequence, nil
	case ack.Error.ErrorCode == wrongSequence || ack.Error.ErrorCode == wrongSequenceUnchecked:
		return 0, errConflict
	}
	return 0, fmt.Errorf("write a log: %w", ack.Error)
}

// version is a stored version of a log.
type version struct {
	log      permitLog
	sequence uint64 // 0: there is none
	stored   tick
}

// load returns the stored version of a log.
func (s *store) load(lineage uuid.UUID, timeout time.Duration) (version, error) {
	m := nats.NewMsg(s.read)
	m.Data = []byte(`{"last_by_subj":"` + subjectPrefix + lineage.String() + `"}`)
	reply, err := s.request(m, timeout)
	if err != nil {
		return version{}, err
	}
	var found struct {
		Message *struct {
			Sequence uint64    `json:"seq"`
			Data     []byte    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
		Error *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(reply, &found); {
	case err != nil:
		return version{}, fmt.Errorf("log: %w", err)
	case found.Error != nil && found.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return version{}, nil
	case found.Error != nil:
		return version{}, fmt.Errorf("read a log: %w", found.Error)
	case found.Message == nil:
		return version{}, errMalformed
	}
	l, err := parseLog(found.Message.Data)
	return version{l, found.Message.Sequence, tickAt(found.Message.Time)}, err
}

// ensure looks the stream up, creates it if it is missing, and reads the server's clock. The error says also why the stream does not
// count permits. ensure does not change an existing stream, because an operator may have given it more replicas.
//
// It asks twice before it takes the server for silent: one lost reply is no outage.
func (s *store) ensure(ctx context.Context, local func() time.Time) (*sample, error) {
	found, err := s.lookUp(ctx, local)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return s.lookUp(ctx, local)
	}
	return found, err
}

// lookUp does what ensure does, within half of the timeout.
func (s *store) lookUp(ctx context.Context, local func() time.Time) (*sample, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout/2)
	defer cancel()
	asked := local()
	stream, err := s.js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		asked = local()
		stream, err = s.js.CreateStream(ctx, s.config)
	}
	if err != nil {
		return nil, err
	}
	info := stream.CachedInfo()
	if err := checkStream(info.Config, s.config); err != nil {
		return nil, fmt.Errorf("stream %s: %w", StreamName, err)
	}
	return &sample{asked: asked, answered: local(), server: info.TimeStamp}, nil
}

// probe checks that the server decides about writes. It asks for one that it must refuse.
func (s *store) probe() error {
	_, err := s.write("probe", nil, math.MaxInt64, s.timeout)
	if errors.Is(err, errConflict) {
		return nil
	}
	if err == nil {
		return errors.New("the server stored a message in spite of its expected sequence")
	}
	return err
}
