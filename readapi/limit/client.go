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

// client sends requests to NATS and receives their replies.
//
// One goroutine writes all requests. So the messages of a batch are adjacent, which matters because the server accepts few open
// batches at a time. And a connection that accepts no more bytes, which blocks its writers for up to a minute, does not block the
// goroutines that wait for a reply.
type client struct {
	conn     *nats.Conn
	name     string // unique; part of the names of its batches
	inbox    string
	outgoing chan outgoing // unbuffered, so a request whose sender has given up is never written

	mu      sync.Mutex
	last    uint64 // number of the latest request
	pending map[string]pendingReply
}

// outgoing is a request. Its last message is the one that gets a reply.
type outgoing struct {
	token    string
	messages []*nats.Msg
}

type pendingReply struct {
	reply    chan reply // has room for one
	deadline time.Time
}

type reply struct {
	message *nats.Msg
	err     error
}

var (
	errDisconnected = errors.New("not connected to NATS")
	errNoReply      = errors.New("no reply from NATS in time")
)

func newClient(conn *nats.Conn) *client {
	return &client{
		conn: conn, name: uuid.NewString() + ".", inbox: conn.NewInbox() + ".",
		outgoing: make(chan outgoing), pending: make(map[string]pendingReply),
	}
}

// run writes requests until ctx ends. It returns an error if the connection is closed.
func (c *client) run(ctx context.Context) error {
	replies, err := c.conn.Subscribe(c.inbox+"*", c.deliver)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	defer func() { _ = replies.Unsubscribe() }() // fails only on a closed connection, which has no subscriptions
	for {
		select {
		case <-ctx.Done():
			return nil
		case o := <-c.outgoing:
			if err := c.write(o.messages); err != nil {
				c.resolve(o.token, reply{err: err})
			}
		}
	}
}

// write writes nothing without a connection: the buffered messages would be sent later, when nobody waits for their reply.
func (c *client) write(messages []*nats.Msg) error {
	if !c.conn.IsConnected() {
		return errDisconnected
	}
	for _, m := range messages {
		if err := c.conn.PublishMsg(m); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	return nil
}

// send sends messages, several of them as one atomic batch. It returns without waiting for the reply; if the writer is blocked, it
// returns when ctx ends. ctx has a deadline, after which the reply is dropped.
func (c *client) send(ctx context.Context, messages ...*nats.Msg) <-chan reply {
	token, replies := c.register(ctx)
	messages[len(messages)-1].Reply = c.inbox + token
	if len(messages) > 1 {
		makeBatch(messages, c.name+token)
	}
	select {
	case c.outgoing <- outgoing{token, messages}:
	case <-ctx.Done():
	}
	return replies
}

// makeBatch sets the headers that make messages one atomic batch.
func makeBatch(messages []*nats.Msg, name string) {
	for i, m := range messages {
		m.Header = nats.Header{batchID: {name}, batchSequence: {strconv.Itoa(i + 1)}}
	}
	messages[len(messages)-1].Header[batchCommit] = []string{"1"}
}

func (c *client) register(ctx context.Context) (string, <-chan reply) {
	replies := make(chan reply, 1)
	deadline, _ := ctx.Deadline()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	token := strconv.FormatUint(c.last, 36)
	c.pending[token] = pendingReply{replies, deadline}
	return token, replies
}

// deliver passes a reply to its receiver. Of a reply in several messages only the first is used.
func (c *client) deliver(m *nats.Msg) {
	c.resolve(strings.TrimPrefix(m.Subject, c.inbox), reply{message: m})
}

func (c *client) resolve(token string, r reply) {
	c.mu.Lock()
	p, ok := c.pending[token]
	delete(c.pending, token)
	c.mu.Unlock()
	if ok {
		p.reply <- r
	}
}

// prune removes pending replies whose deadline has passed.
func (c *client) prune(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for token, p := range c.pending {
		if p.deadline.Before(now) {
			delete(c.pending, token)
		}
	}
}

// receive waits for a reply until ctx ends. A reply that arrived before the end of ctx is returned even if receive is called later.
func receive(ctx context.Context, replies <-chan reply) (*nats.Msg, error) {
	select {
	case r := <-replies:
		return r.message, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-replies:
		return r.message, r.err
	default:
		return nil, errNoReply
	}
}
