// Package deadletter lists, shows, retries, drops and makes dead letters: messages that could not be applied, stored
// whole.
//
// The package applies nothing. A skip makes a message a dead letter before it is applied. A retry publishes the
// message again, and the projector that owns the partition applies it at its sequence in the stream. A dropped dead
// letter loses its headers and its data but not its row, so a replay knows that it was never applied.
package deadletter

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
)

//go:embed find.sql
var findSQL string

// State is what has become of a dead letter.
type State string

// The states. An open or waiting dead letter can be retried and dropped. The other states are final.
const (
	Open    State = "open"
	Waiting State = "waiting" // for a retry that was published
	Applied State = "applied" // by a retry
	Stale   State = "stale"   // a retry found a later state of the same entity
	Ignored State = "ignored" // its call was deleted
	Dropped State = "dropped"
	Gone    State = "gone" // its row was deleted together with its generation
)

// Resolved reports whether the state is final.
func (s State) Resolved() bool { return s != Open && s != Waiting }

// DeadLetter is a dead letter without its headers and data.
type DeadLetter struct {
	ID         int64         `json:"id"`
	State      State         `json:"state"`
	Stream     uuid.NullUUID `json:"stream"` // null: the stream of audit entries
	Sequence   int64         `json:"sequence"`
	Partition  int           `json:"partition"`
	Subject    string        `json:"subject"`
	Reason     string        `json:"reason"`   // why the message, or its last retry, could not be applied
	StoredAt   time.Time     `json:"storedAt"` // by the stream
	RecordedAt time.Time     `json:"recordedAt"`
	Tries      int           `json:"tries"`     // how many retries have failed
	FailedAt   *time.Time    `json:"failedAt"`  // when the last retry failed; nil: none has
	RetriedAt  *time.Time    `json:"retriedAt"` // when the retry was published that it waits for
	ResolvedAt *time.Time    `json:"resolvedAt"`
}

// Audit tells whether the message is one of audit entries, and not of events.
func (l DeadLetter) Audit() bool { return !l.Stream.Valid }

// Detail is a dead letter with its headers, its data and advice.
type Detail struct {
	DeadLetter
	RawHeader []byte              `json:"-"`      // as in the NATS protocol
	Header    map[string][]string `json:"header"` // nil: the message has none, or they can't be parsed
	Data      []byte              `json:"data"`   // empty once the dead letter is dropped
	Advice    string              `json:"advice"`
}

// UnknownError names ids that no dead letter has.
type UnknownError struct {
	IDs []int64
}

// Error lists the ids.
func (e *UnknownError) Error() string {
	texts := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return "no dead letter has the ID " + strings.Join(texts, ", ")
}

// Find returns one dead letter. The error is an [*UnknownError] if it does not exist.
func Find(ctx context.Context, pool *pgxpool.Pool, id int64) (Detail, error) {
	type row struct {
		DeadLetter
		RawHeader, Data []byte
	}

	rows, _ := pool.Query(ctx, findSQL, id)
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[row])
	if errors.Is(err, pgx.ErrNoRows) {
		return Detail{}, &UnknownError{[]int64{id}}
	}
	if err != nil {
		return Detail{}, fmt.Errorf("dead letter: %w", err)
	}

	detail := Detail{DeadLetter: found.DeadLetter, RawHeader: found.RawHeader, Data: found.Data,
		Advice: Advice(found.DeadLetter)}

	// A header that NATS cannot decode is in RawHeader alone.
	if header, err := nats.DecodeHeadersMsg(found.RawHeader); err == nil {
		detail.Header = header
	}

	return detail, nil
}
