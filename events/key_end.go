package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

// KeyEnd says when a key ends. At least one of the times is not nil. It holds nothing secret.
type KeyEnd struct {
	ID        uuid.UUID  `json:"id"`
	RevokedAt *time.Time `json:"revokedAt,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// Same tells whether two entries say the same.
func (e KeyEnd) Same(other KeyEnd) bool {
	return e.ID == other.ID && sameTime(e.RevokedAt, other.RevokedAt) && sameTime(e.ExpiresAt, other.ExpiresAt)
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

func (e KeyEnd) encode() ([]byte, error) {
	if err := e.validate(); err != nil {
		return nil, err
	}
	return json.Marshal(e)
}

// decodeKeyEnd decodes a message. Who may publish the entry of one key must not be able to end another one, and who
// may ask NATS for a copy of a message, which can be sent to any subject, must end none.
func decodeKeyEnd(m jetstream.Msg) (e KeyEnd, err error) {
	if copied := ServerHeader(m.Headers()); copied != "" {
		return e, errors.New("journal entry: it is a copy of a message, with the header " + copied)
	}
	if err := json.Unmarshal(m.Data(), &e); err != nil {
		return e, fmt.Errorf("journal entry: %w", err)
	}
	if m.Subject() != e.subject() {
		return e, errors.New("journal entry: the subject is not that of the key")
	}
	return e, e.validate()
}

func (e KeyEnd) validate() error {
	if e.ID == uuid.Nil || e.RevokedAt == nil && e.ExpiresAt == nil {
		return errors.New("journal entry: the id or both times are missing")
	}
	for _, t := range []*time.Time{e.RevokedAt, e.ExpiresAt} {
		if t != nil && (t.Before(time.Unix(0, 0)) || t.Year() > 9999) {
			return errors.New("journal entry: a time is out of range")
		}
	}
	return nil
}

func (e KeyEnd) subject() string { return keySubjectPrefix + e.ID.String() }
