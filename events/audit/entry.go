package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
)

// Entry is one request of a key.
type Entry struct {
	ID        uuid.UUID     `json:"id"` // of the entry: filed once, however often it is delivered
	At        time.Time     `json:"at"` // when the request came, to the microsecond
	KeyID     uuid.UUID     `json:"keyId"`
	Operation string        `json:"operation"`
	System    uuid.NullUUID `json:"phoneSystemId"` // the path's, whether the key covers it or not
	Status    int           `json:"status"`
	Code      string        `json:"code,omitempty"` // of the problem document; empty: answered
	Address   netip.Addr    `json:"address"`        // the zero address: not known
	RequestID string        `json:"requestId"`
}

// Encode writes entries as lines of JSON.
func Encode(entries []Entry) ([]byte, error) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	for _, e := range entries {
		if err := lines.Encode(e); err != nil {
			return nil, fmt.Errorf("audit entry: %w", err)
		}
	}
	return b.Bytes(), nil
}

// Decode reads what [Encode] writes, one entry at least. A message is read whole or not at all.
func Decode(message []byte) ([]Entry, error) {
	var entries []Entry
	for line := range bytes.Lines(message) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("audit entry: %w", err)
		}
		// A day before the Christian era has the name of one after it, and would be filed nowhere.
		if e.ID == uuid.Nil || e.KeyID == uuid.Nil || e.At.Before(time.Unix(0, 0)) {
			return nil, errors.New("audit entry: without an id, a key or a time")
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return nil, errors.New("audit message: without an entry")
	}
	return entries, nil
}
