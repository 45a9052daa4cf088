package deadletter

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

var (
	//go:embed message.sql
	messageSQL string

	//go:embed record_retry.sql
	recordRetrySQL string
)

// NotRetryableReason is why a dead letter can't be retried.
type NotRetryableReason string

// The reasons.
const (
	NotRetryableAudit      NotRetryableReason = "audit"      // it is a message of the audit stream
	NotRetryableStream     NotRetryableReason = "stream"     // the projection is built from another stream
	NotRetryableGeneration NotRetryableReason = "generation" // it is a dead letter only in a generation that is not live
	NotRetryableMessage    NotRetryableReason = "message"    // its subject or its headers can't be published
)

// Text completes a sentence such as "the dead letter is ...".
func (r NotRetryableReason) Text() string {
	switch r {
	case NotRetryableAudit:
		return "of the audit stream, whose messages are never retried"
	case NotRetryableStream:
		return "of another stream than the projection's"
	case NotRetryableGeneration:
		return "of a generation that is not live"
	case NotRetryableMessage:
		return "a message whose subject or headers can't be published again"
	}
	return string(r)
}

// NotRetryableError says that a dead letter was named that can't be retried.
type NotRetryableError struct {
	ID     int64
	Reason NotRetryableReason
}

// Error says why.
func (e *NotRetryableError) Error() string {
	return fmt.Sprintf("dead letter %d can't be retried: it is %s", e.ID, e.Reason.Text())
}

// Retrier retries dead letters by publishing their messages again.
type Retrier struct {
	Pool      *pgxpool.Pool
	JetStream jetstream.JetStream
	Stream    string // the name of the stream of events

	// OnPublished is called after every message with the number of messages so far, and that of all. It may not be nil.
	OnPublished func(published, total int)
}

// Retries is what [Retrier.Retry] did.
type Retries struct {
	Published       []int64                    // the dead letters that wait for a projector now
	TooLarge        []Result                   // open: the NATS server refuses messages of this size
	AlreadyResolved []Result                   // resolved before the command
	NotRetryable    map[NotRetryableReason]int // how many of the open ones can't be retried
}

// tooLarge is why a dead letter is not published that is as large as the server's limit: the name of the dead letter
// makes it larger.
const tooLarge = "the message exceeds max_payload of the NATS server: raise max_payload, then retry"

// Retry publishes dead letters again, one after the other in the order of the stream, and does not wait for the
// projectors. If an id is unknown ([*UnknownError]), or a dead letter that is named is of a stream or generation that
// can't be retried ([*NotRetryableError]), Retry publishes nothing. After any other error, the retries that it
// returns were published.
//
// A message has no ID that could be taken in advance. Where two people retry at once, or again after an interruption,
// the stream can have two messages of a dead letter. The first one that is applied resolves it, and the other one is
// stale.
func (r Retrier) Retry(ctx context.Context, s Selection) (Retries, error) {
	done := Retries{NotRetryable: make(map[NotRetryableReason]int)}
	list, err := find(ctx, r.Pool, s, selectSQL)
	if err != nil {
		return done, err
	}

	var ids []int64
	for _, l := range list {
		switch {
		case l.State.Resolved():
			done.AlreadyResolved = append(done.AlreadyResolved, Result{ID: l.ID, State: l.State, AlreadyResolved: true})

		case l.NotRetryable == "":
			ids = append(ids, l.ID)

		case s.IDs != nil:
			// A dead letter that an operator has named is not left out in silence.
			return done, &NotRetryableError{l.ID, l.NotRetryable}

		default:
			done.NotRetryable[l.NotRetryable]++
		}
	}

	// A dead letter that cannot be published stops those behind it only where it was named.

	for i, id := range ids {
		err := r.publishOnce(ctx, id)
		var notRetryable *NotRetryableError
		switch {
		case errors.Is(err, nats.ErrMaxPayload):
			done.TooLarge = append(done.TooLarge, Result{ID: id, State: Open, Reason: tooLarge})
		case errors.As(err, &notRetryable) && s.IDs == nil:
			done.NotRetryable[notRetryable.Reason]++
		case err != nil:
			return done, err

		default:
			done.Published = append(done.Published, id)
		}

		r.OnPublished(i+1, len(ids))
	}
	return done, nil
}

// publishOnce publishes a dead letter unless it was resolved meanwhile or its last retry is on its way to the projector.
// Only then it records the retry: if it is interrupted in between, the next one publishes the message once more.
func (r Retrier) publishOnce(ctx context.Context, id int64) error {
	k, err := r.read(ctx, id)
	if err != nil || !k.Open || k.Published {
		return err
	}

	sequence, err := r.publish(ctx, k)
	if err != nil {
		return err
	}

	if _, err := r.Pool.Exec(ctx, recordRetrySQL, id, k.Tries, sequence); err != nil {
		return fmt.Errorf("record retry of dead letter %d: %w", id, err)
	}
	return nil
}

// storedMessage is a row of message.sql.
type storedMessage struct {
	ID           int64 `db:"-"`
	Sequence     uint64
	StoredAt     time.Time
	Subject      string
	Header, Data []byte
	Tries        int
	Open         bool
	Published    bool
}

func (r Retrier) read(ctx context.Context, id int64) (k storedMessage, err error) {
	rows, _ := r.Pool.Query(ctx, messageSQL, id)
	k, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[storedMessage])
	if err != nil && !errors.Is(err, pgx.ErrNoRows) { // deleted meanwhile, together with its generation
		return k, fmt.Errorf("dead letter %d: %w", id, err)
	}
	k.ID = id
	return k, nil
}

// ackTimeout is how long an acknowledgement is waited for: long enough for a server that syncs every write to a busy
// disk.
const ackTimeout = 10 * time.Second

// publish publishes a dead letter and returns the sequence of the message.
func (r Retrier) publish(ctx context.Context, k storedMessage) (sequence int64, err error) {
	m, ok := k.message()
	if !ok {
		return 0, &NotRetryableError{k.ID, NotRetryableMessage}
	}

	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()

	ack, err := r.JetStream.PublishMsg(ctx, m, jetstream.WithExpectStream(r.Stream))
	if err != nil {
		if denied := r.JetStream.Conn().LastError(); errors.Is(denied, nats.ErrPermissionViolation) {
			err = denied // the server answers a denied message on the connection only
		}
		return 0, fmt.Errorf("publish dead letter %d: %w", k.ID, err)
	}
	return int64(ack.Sequence), nil
}

// message returns the message to publish: subject, headers and data as they were, and the name of the dead letter.
// Headers that NATS acts on are left out: they applied to the first publication.
func (k storedMessage) message() (m *nats.Msg, ok bool) {
	subject, ok := events.PublishedSubject(k.Subject)
	if !ok {
		return nil, false
	}

	header, err := nats.DecodeHeadersMsg(k.Header)
	if err != nil {
		return nil, false
	}

	for name := range header {
		if strings.HasPrefix(strings.ToLower(name), "nats-") {
			delete(header, name)
		}
	}

	// The projector knows a retry by this header.
	header.Set(events.RetryHeader, events.FormatRetry(k.Sequence, events.TimeOf(k.StoredAt)))
	return &nats.Msg{Subject: subject, Header: header, Data: k.Data}, true
}

//go:embed resolved.sql
var resolvedSQL string

// pollInterval is well below a projector's tick.
const pollInterval = 100 * time.Millisecond

// Wait waits until dead letters that were published again are decided, or for a timeout, and returns what became of
// each, ordered by id. It calls onProgress after every look with the number of decided ones.
func Wait(
	ctx context.Context, pool *pgxpool.Pool, ids []int64, timeout time.Duration, onProgress func(done int),
) (results []Result, err error) {
	waiting := slices.Clone(ids)
	defer func() { sortByID(results) }()

	for deadline := time.After(timeout); ; {
		// What is decided leaves the ids.
		rows, _ := pool.Query(ctx, resolvedSQL, waiting)
		decided, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Result, err error) {
			err = row.Scan(&r.ID, &r.State, &r.Reason)
			return r, err
		})
		if err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}

		results = append(results, decided...)
		waiting = slices.DeleteFunc(waiting, func(id int64) bool {
			return slices.ContainsFunc(decided, func(r Result) bool { return r.ID == id })
		})

		onProgress(len(results))
		if len(waiting) == 0 {
			return results, nil
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()

		case <-deadline:
			// A retry without a decision is no error, because a projector may still decide it.
			for _, id := range waiting {
				results = append(results, Result{ID: id, State: Waiting,
					Reason: "no projector has decided the retry: run 'callboard status'"})
			}
			return results, nil

		case <-time.After(pollInterval):
		}
	}
}
