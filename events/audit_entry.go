package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
)

// AuditEntry is one request of a key, or several that were refused with the same status and code.
type AuditEntry struct {
	ID        uuid.UUID     `json:"id"` // an entry with this id is stored once, however often it is delivered
	At        time.Time     `json:"at"` // when the request arrived, the first of several, in microseconds
	KeyID     uuid.UUID     `json:"keyId"`
	Operation string        `json:"operation"`     // none: for a path or a method that no operation has; empty: more than one
	System    uuid.NullUUID `json:"phoneSystemId"` // the phone system in the path, covered or not; not valid: none, or more than one
	Status    int           `json:"status"`
	Code      string        `json:"code,omitempty"` // of the problem document, or COVERAGE_STALE; empty if the request was answered
	Address   netip.Addr    `json:"address"`        // of the last request; the zero address if unknown
	RequestID string        `json:"requestId"`      // of the first request

	// These are zero in an entry of one request, and in those of releases that don't have them.
	Count         int64     `json:"count,omitzero"`
	LastAt        time.Time `json:"lastAt,omitzero"` // when the last request arrived
	LastRequestID string    `json:"lastRequestId,omitzero"`
	Addresses     int       `json:"addresses,omitzero"` // different ones; zero: one
}

// Requests returns how many requests the entry is about.
func (e AuditEntry) Requests() int64 { return max(1, e.Count) }

// EncodeAudit encodes entries as lines of JSON.
func EncodeAudit(entries []AuditEntry) ([]byte, error) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	for _, e := range entries {
		if err := lines.Encode(e); err != nil {
			return nil, fmt.Errorf("audit entry: %w", err)
		}
	}
	return b.Bytes(), nil
}

// DecodeAudit decodes the lines of [EncodeAudit]. It returns an error if any line is invalid or if there is none.
func DecodeAudit(message []byte) ([]AuditEntry, error) {
	var entries []AuditEntry
	for line := range bytes.Lines(message) {
		var e AuditEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("audit entry: %w", err)
		}

		// The name of a partition has no era: a time before the year 1 would have the partition of another year.
		if e.ID == uuid.Nil || e.KeyID == uuid.Nil || e.At.Before(time.Unix(0, 0)) {
			return nil, errors.New("audit entry: the id, the key or the time is missing or invalid")
		}

		// An entry of several requests has a count, and its last request is not before its first.
		if e.Count < 0 || e.Addresses < 0 || !e.LastAt.IsZero() && e.LastAt.Before(e.At) {
			return nil, errors.New("audit entry: the count or the last time is invalid")
		}
		entries = append(entries, e)
	}

	if len(entries) == 0 {
		return nil, errors.New("audit message: no entries")
	}
	return entries, nil
}
