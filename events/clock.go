package events

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ClockSubject is the subject of clock messages. They are in no partition, and their subject is stored as it is
// published. A clock message that was delivered proves that every message below it was delivered or is in another
// partition: no answer about a stream proves that.
const ClockSubject = subjectRoot + ".clock"

// ErrClockElsewhere is the refusal of a clock message by another stream than the one that it is for.
var ErrClockElsewhere = errors.New("another stream takes clock messages")

// The codes of refusals by a stream. The last one says that a message of the same subject is being stored.
const (
	wrongStream        jetstream.ErrorCode = 10060
	wrongSequence      jetstream.ErrorCode = 10071
	wrongSequenceInUse jetstream.ErrorCode = 10164
)

// PublishClock publishes a clock message if the last one of the stream has the sequence after, 0: none. It returns
// the sequence of the stream's last clock message: the published one, or the one that the stream has already. So
// several publishers store one together, and no ID can be taken in advance. A caller must wait before the next
// attempt, whatever the answer is. The error is [ErrClockElsewhere] if another stream took the subject over, and
// [jetstream.ErrNoStreamResponse] if no stream takes clock messages.
func PublishClock(ctx context.Context, js jetstream.JetStream, stream string, after uint64) (last uint64, err error) {
	m := nats.NewMsg(ClockSubject)
	// For people who look at the stream: the publisher's clock in milliseconds.
	m.Data = strconv.AppendInt(nil, time.Now().UnixMilli(), 10)

	// The request is not repeated here, because the caller must wait before the next attempt.
	ack, err := js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0), jetstream.WithExpectStream(stream),
		jetstream.WithExpectLastSequencePerSubject(after))
	if err == nil {
		return ack.Sequence, nil
	}

	var refusal *jetstream.APIError
	if !errors.As(err, &refusal) {
		return 0, err
	}

	switch refusal.ErrorCode {
	case wrongStream:
		return 0, ErrClockElsewhere
	case wrongSequence, wrongSequenceInUse:
		// Another publisher was faster. Its message serves all publishers.
		found, err := LastMessage(ctx, js, stream, ClockSubject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return 0, nil
		}
		return found.Sequence, err

	default:
		return 0, err
	}
}
