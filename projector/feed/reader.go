package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

const (
	// ConsumerPrefix begins the names of a projector's consumers.
	ConsumerPrefix = "projector-"
	// expiry is how long the server keeps a consumer that nobody reads from. A reader that waits for room waits less:
	// for a batch, which has its own limit.
	expiry = 5 * time.Minute
	// pullBytes limits the messages that the server sends ahead, beside those that are counted.
	pullBytes = 16 << 20
	// pullMessages is more than the bytes allow.
	pullMessages = 1_000_000
	// pullOverhead is how much a message has beside what the server's max_payload limits: its subjects.
	pullOverhead = 64 << 10
	// pullExpiry is how long the server answers a request for messages.
	pullExpiry = 30 * time.Second
	// heartbeat is how often the server says that it has nothing to send. After two missed ones, messages are requested
	// again.
	heartbeat = 5 * time.Second
	// lookInterval is how often a reader that gets nothing looks at the connection.
	lookInterval = 200 * time.Millisecond
	// requestTimeout limits a request to JetStream.
	requestTimeout = 10 * time.Second
	// deleteTimeout limits the deletion of a consumer that nobody needs. If it fails, the consumer expires.
	deleteTimeout = 2 * time.Second
	// DefaultStall is how long the consumer may withhold a message that the stream is known to have.
	DefaultStall = 10 * time.Second
)

var (
	// ErrGap is a delivery that another client took, or that came twice.
	ErrGap = errors.New("the consumer skipped or repeated a delivery: another client may read from it")
	// ErrReconnected makes a reader's user check the stream: the server may have lost the end of the stream and stored
	// other messages.
	ErrReconnected = errors.New("the connection to NATS was lost and is back: the stream is checked again")

	errStalled = errors.New("the consumer stopped delivering although the stream has more messages")
)

// Reader reads a stream in order and without a gap, by a pull consumer that exists while it runs.
//
// A client library would do that, but it takes a stored message for a word of the server if the message has no data and
// a header "Status": with one such message, a publisher could stop all partitions. Here the reply subject tells, which
// only the server sets.
type Reader struct {
	Conn    *nats.Conn
	Stream  jetstream.Stream
	After   uint64                          // the sequence after which to begin
	Filters []string                        // subjects; none: all messages
	Receive func(events.StoredMessage) bool // gets each message, and returns false after the last one that it wants
	Expects func() bool                     // whether the stream is known to have a message that Receive still wants
	Stall   time.Duration                   // how long the consumer may withhold such a message; 0: DefaultStall

	answers    chan *nats.Msg // what the server sends
	reconnects uint64         // of the connection, when the consumer was created
	deliveries uint64         // the server counts them from 1
	last       uint64         // the sequence of the last one
	heard      time.Time      // when the server has sent something
	expected   time.Time      // since when the stream is known to have a message that has not come; zero: it is not
}

// Run returns nil once Receive has returned false. Any other end is an error: that of ctx, [ErrGap], [ErrReconnected],
// or one of the consumer.
func (r Reader) Run(ctx context.Context) error {
	r.reconnects = r.Conn.Stats().Reconnects
	consumer := ConsumerPrefix + uuid.NewString()
	defer r.deleteConsumer(consumer) // also where ctx has ended before the server said that it exists
	stream, err := r.createConsumer(ctx, consumer)
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	// The callback ends with the reader, so it never blocks the subscription.
	r.answers = make(chan *nats.Msg)
	inbox := r.Conn.NewInbox() + "."
	subscription, err := r.Conn.Subscribe(inbox+"*", func(m *nats.Msg) {
		select {
		case r.answers <- m:
		case <-ctx.Done():
		}
	})
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}

	defer func() { _ = subscription.Unsubscribe() }()             // an error says that the connection is closed
	if err := subscription.SetPendingLimits(-1, -1); err != nil { // requests limit what comes
		return fmt.Errorf("consumer: %w", err)
	}
	return r.pull(ctx, jetstream.DefaultAPIPrefix+"CONSUMER.MSG.NEXT."+stream+"."+consumer, inbox)
}

// createConsumer creates the consumer, and returns the name of its stream.
func (r *Reader) createConsumer(ctx context.Context, name string) (stream string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	consumer, err := r.Stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Name:              name,
		FilterSubjects:    r.Filters,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       r.After + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		InactiveThreshold: expiry,
	})
	if err != nil {
		return "", err
	}

	return consumer.CachedInfo().Stream, nil
}

func (r *Reader) deleteConsumer(name string) {
	if !r.Conn.IsConnected() {
		return
	}
	// The context of the reader's user may have ended.
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	_ = r.Stream.DeleteConsumer(ctx, name)
}

// pull requests messages by a subject again and again.
func (r *Reader) pull(ctx context.Context, subject, inbox string) error {
	// A message that is larger than a request would never be delivered.
	limit := max(pullBytes, int(r.Conn.MaxPayload())+pullOverhead)
	request, err := json.Marshal(map[string]any{
		"expires": pullExpiry, "idle_heartbeat": heartbeat, "batch": pullMessages, "max_bytes": limit,
	})
	if err != nil {
		return err
	}

	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for number := 1; ; number++ {
		reply := inbox + strconv.Itoa(number)
		r.heard = time.Now()
		if err := r.Conn.PublishRequest(subject, reply, request); err != nil {
			return fmt.Errorf("consumer: %w", err)
		}

		if again, err := r.receive(ctx, look.C, reply); err != nil || !again {
			return err
		}
	}
}

// receive receives what the server sends, until the request with a reply subject has ended. It returns false if no
// message is wanted any more.
func (r *Reader) receive(ctx context.Context, look <-chan time.Time, reply string) (again bool, err error) {
	for left := pullMessages; left > 0; {
		var m *nats.Msg
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-look:
		case m = <-r.answers:
		}

		if r.Conn.Stats().Reconnects != r.reconnects {
			return false, ErrReconnected
		}

		switch {
		case m == nil && r.stalled():
			return false, errStalled
		case m == nil && time.Since(r.heard) > 2*heartbeat:
			return true, nil
		case m == nil:
			continue

		// A message that is not a delivery is a status of the server.
		case !strings.HasPrefix(m.Reply, "$JS.ACK."):
			r.heard = time.Now()
			ended, err := readStatus(m)
			if m.Subject == reply && (ended || err != nil) { // else it is about an earlier request
				return ended, err
			}
			continue
		}

		stored, err := r.check(m)
		if err != nil || !r.Receive(stored) {
			return false, err
		}

		r.heard, r.expected = time.Now(), time.Time{}
		left--
	}
	return true, nil
}

// stalled tells whether the stream has had a message for long that does not come. A consumer that is paused, or a
// server that lags, says nothing.
func (r *Reader) stalled() bool {
	switch {
	case !r.Expects():
		r.expected = time.Time{}
	case r.expected.IsZero():
		r.expected = time.Now()

	default:
		stall := r.Stall
		if stall == 0 {
			stall = DefaultStall
		}
		return time.Since(r.expected) > stall
	}

	return false
}

// check must get every delivery. Another client's pull on the same consumer would take deliveries away, which their
// numbers show. The server counts a repeated delivery as a new one, but its stream sequence is not a new one.
func (r *Reader) check(m *nats.Msg) (events.StoredMessage, error) {
	meta, err := m.Metadata()
	if err != nil {
		return events.StoredMessage{}, fmt.Errorf("delivery: %w", err)
	}

	if meta.Sequence.Consumer != r.deliveries+1 || meta.Sequence.Stream <= r.last {
		return events.StoredMessage{}, ErrGap
	}

	r.deliveries++
	r.last = meta.Sequence.Stream
	return events.StoredMessage{
		Message:  events.Message{Subject: m.Subject, Header: m.Header, Data: m.Data},
		Sequence: meta.Sequence.Stream,
		StoredAt: meta.Timestamp,
	}, nil
}

// readStatus reads what the server says about a request: that it has ended, or that the consumer can't be read.
// Anything else is a heartbeat, or an end after which the server falls silent.
func readStatus(m *nats.Msg) (ended bool, err error) {
	description := strings.ToLower(m.Header.Get("Description"))
	switch status := m.Header.Get("Status"); {
	case status == "503": // nobody answers for the consumer: a server that restarts loses it
		return false, fmt.Errorf("consumer: %w", nats.ErrNoResponders)
	case strings.Contains(description, "consumer deleted"):
		return false, fmt.Errorf("consumer: %w", jetstream.ErrConsumerDeleted)
	case status == "400":
		return false, fmt.Errorf("consumer: %w: %s", jetstream.ErrBadRequest, description)

	// After these answers, the next request continues.
	case status == "404", status == "408", strings.Contains(description, "exceeds maxbytes"),
		strings.Contains(description, "batch completed"), strings.Contains(description, "leadership change"):
		return true, nil
	}
	return false, nil
}
