package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// pullExpiry is how long the server answers a request for messages.
	pullExpiry = 30 * time.Second
	// heartbeat is how often the server says that it has nothing to send. After two missed ones, messages are requested again.
	heartbeat = 5 * time.Second
)

// pull receives the messages of a pull consumer. A client library would do that, but it takes a stored message for a word of the server if it
// has no data and a header "Status": with one such message, a publisher could stop all partitions. Here the reply subject tells, which only
// the server sets.
type pull struct {
	conn         *nats.Conn
	subject      string // of requests
	request      []byte
	messages     int    // of a request
	inbox        string // begins the subjects to which requests are answered
	subscription *nats.Subscription
	connected    chan nats.Status // gets a value when the connection is there again
	deliver      func(*nats.Msg)
	fail         func(error)
	closed       chan struct{} // nothing is delivered any more

	mu     sync.Mutex
	number int       // of the last request
	left   int       // messages of it that have not come
	heard  time.Time // when the server has sent something
	busy   bool      // deliver runs
}

// openPull begins to receive. A request is for some messages and bytes. deliver gets the messages in order, on a goroutine of its own, and fail
// what the server says against a request.
func openPull(conn *nats.Conn, consumer jetstream.Consumer, messages, bytes int, deliver func(*nats.Msg), fail func(error)) (*pull, error) {
	info := consumer.CachedInfo()
	request, err := json.Marshal(map[string]any{"expires": pullExpiry, "idle_heartbeat": heartbeat, "batch": messages, "max_bytes": bytes})
	if err != nil {
		return nil, err
	}
	p := &pull{
		conn: conn, subject: jetstream.DefaultAPIPrefix + "CONSUMER.MSG.NEXT." + info.Stream + "." + info.Name, request: request, messages: messages,
		inbox: conn.NewInbox() + ".", connected: conn.StatusChanged(nats.CONNECTED), deliver: deliver, fail: fail, closed: make(chan struct{}),
	}
	if p.subscription, err = conn.Subscribe(p.inbox+"*", p.handle); err != nil {
		conn.RemoveStatusListener(p.connected)
		return nil, fmt.Errorf("consumer: %w", err)
	}
	p.subscription.SetClosedHandler(func(string) { close(p.closed) })
	err = p.subscription.SetPendingLimits(-1, -1) // requests limit what comes
	if err == nil {
		err = p.next()
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("consumer: %w", err)
	}
	go p.watch()
	return p, nil
}

// next requests messages. What the server says about earlier requests is ignored from then on.
func (p *pull) next() error {
	p.mu.Lock()
	p.number++
	p.left, p.heard = p.messages, time.Now()
	reply := p.inbox + strconv.Itoa(p.number)
	p.mu.Unlock()
	return p.conn.PublishRequest(p.subject, reply, p.request)
}

// again requests messages. Where that fails, watch repeats it.
func (p *pull) again() { _ = p.next() }

// watch requests messages again after a lost connection, or when the server sends nothing, not even heartbeats.
func (p *pull) watch() {
	defer p.conn.RemoveStatusListener(p.connected)
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-p.closed:
			return
		case _, open := <-p.connected:
			if !open { // the connection is closed
				return
			}
			p.again()
		case <-tick.C:
			if p.silent() && p.conn.IsConnected() {
				p.again()
			}
		}
	}
}

func (p *pull) silent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.busy && time.Since(p.heard) > 2*heartbeat
}

// handle gets what the server sends.
func (p *pull) handle(m *nats.Msg) {
	if !strings.HasPrefix(m.Reply, "$JS.ACK.") {
		p.hear()
		p.handleStatus(m)
		return
	}
	p.setBusy(true)
	p.deliver(m)
	if p.setBusy(false) == 0 {
		p.again()
	}
}

func (p *pull) hear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = time.Now()
}

// setBusy sets whether a message is being delivered. It returns how many are left of the request.
func (p *pull) setBusy(busy bool) (left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy, p.heard = busy, time.Now()
	if !busy {
		p.left--
	}
	return p.left
}

// handleStatus gets what the server says about a request.
func (p *pull) handleStatus(m *nats.Msg) {
	p.mu.Lock()
	current := m.Subject == p.inbox+strconv.Itoa(p.number)
	p.mu.Unlock()
	description := strings.ToLower(m.Header.Get("Description"))
	switch status := m.Header.Get("Status"); {
	case !current || status == "100": // a heartbeat
	case status == "503":
		p.fail(nats.ErrNoResponders)
	case strings.Contains(description, "consumer deleted"):
		p.fail(jetstream.ErrConsumerDeleted)
	case status == "400":
		p.fail(fmt.Errorf("%w: %s", jetstream.ErrBadRequest, description))
	case status == "404", status == "408", strings.Contains(description, "exceeds maxbytes"), strings.Contains(description, "batch completed"),
		strings.Contains(description, "leadership change"):
		p.again() // the request has ended
	default:
		p.fail(errors.New(description)) // the request is repeated when the server falls silent
	}
}

// close returns once nothing is delivered any more. deliver must not wait.
func (p *pull) close() {
	_ = p.subscription.Unsubscribe() // an error says that the connection is closed, which closes the subscription
	<-p.closed
}
