package limit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
)

// The headers of atomic batches.
const (
	batchID       = "Nats-Batch-Id"
	batchSequence = "Nats-Batch-Sequence"
	batchCommit   = "Nats-Batch-Commit"
)

// wire carries questions to NATS and brings the answers.
//
// One goroutine writes all of them. So the messages of a batch lie together, of which the server has few open at a time; and a
// connection that takes no more bytes, which blocks its writers for up to a minute, blocks nobody who waits for an answer.
type wire struct {
	conn   *nats.Conn
	name   string // unique to it, in the names of its batches
	inbox  string
	orders chan order // not buffered: what nobody waits for any more is never written

	mu      sync.Mutex
	last    uint64 // number of a question
	waiting map[string]waiting
}

// order is what the writer is to write: a question, whose last message is answered.
type order struct {
	token    string
	messages []*nats.Msg
}

// waiting is somebody who waits for an answer.
type waiting struct {
	answer chan answer // takes one
	until  time.Time
}

type answer struct {
	message *nats.Msg
	err     error
}

var (
	errDisconnected = errors.New("not connected to nats")
	errSilence      = errors.New("no answer from nats in time")
)

func newWire(conn *nats.Conn) *wire {
	return &wire{
		conn: conn, name: uuid.NewString() + ".", inbox: conn.NewInbox() + ".",
		orders: make(chan order), waiting: make(map[string]waiting),
	}
}

// run writes until ctx ends. The error is a connection that is closed.
func (w *wire) run(ctx context.Context) error {
	answers, err := w.conn.Subscribe(w.inbox+"*", w.deliver)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	defer func() { _ = answers.Unsubscribe() }() // fails on a closed connection, which needs it no more
	for {
		select {
		case <-ctx.Done():
			return nil
		case o := <-w.orders:
			if err := w.write(o.messages); err != nil {
				w.resolve(o.token, answer{err: err})
			}
		}
	}
}

// write leaves nothing in the connection's buffer for later, when nobody would want it.
func (w *wire) write(messages []*nats.Msg) error {
	if !w.conn.IsConnected() {
		return errDisconnected
	}
	for _, m := range messages {
		if err := w.conn.PublishMsg(m); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	return nil
}

// send asks a question, several messages of it being one atomic batch, and returns at once, or where the writer is held up when
// ctx ends. The answer has until then to come.
func (w *wire) send(ctx context.Context, messages ...*nats.Msg) <-chan answer {
	token, reply := w.expect(ctx)
	messages[len(messages)-1].Reply = w.inbox + token
	if len(messages) > 1 {
		bind(messages, w.name+token)
	}
	select {
	case w.orders <- order{token, messages}:
	case <-ctx.Done():
	}
	return reply
}

// bind makes messages an atomic batch.
func bind(messages []*nats.Msg, name string) {
	for i, m := range messages {
		m.Header = nats.Header{batchID: {name}, batchSequence: {strconv.Itoa(i + 1)}}
	}
	messages[len(messages)-1].Header[batchCommit] = []string{"1"}
}

func (w *wire) expect(ctx context.Context) (string, <-chan answer) {
	reply := make(chan answer, 1)
	until, _ := ctx.Deadline()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	token := strconv.FormatUint(w.last, 36)
	w.waiting[token] = waiting{reply, until}
	return token, reply
}

// deliver hands an answer to whoever waits for it. Of an answer in several messages the first is all that anybody wants.
func (w *wire) deliver(m *nats.Msg) {
	w.resolve(strings.TrimPrefix(m.Subject, w.inbox), answer{message: m})
}

func (w *wire) resolve(token string, a answer) {
	w.mu.Lock()
	asker, ok := w.waiting[token]
	delete(w.waiting, token)
	w.mu.Unlock()
	if ok {
		asker.answer <- a
	}
}

// sweep forgets those who wait no longer.
func (w *wire) sweep(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for token, asker := range w.waiting {
		if asker.until.Before(now) {
			delete(w.waiting, token)
		}
	}
}

// receive waits for an answer until ctx ends.
func receive(ctx context.Context, reply <-chan answer) (*nats.Msg, error) {
	select {
	case a := <-reply:
		return a.message, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-reply: // it came in time, and is asked for late
		return a.message, a.err
	default:
		return nil, errSilence
	}
}
