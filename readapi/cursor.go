package readapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
	"callboard/readapi/query"
)

// cursor is how far a walk through a report window has come. Clients carry it sealed, together with its window's
// digest.
type cursor struct {
	early bool // issued before the window's end
	after query.ReportKey
}

// windowDigest identifies a report window. A cursor is valid only for the window that it was issued for.
type windowDigest [16]byte

// digestWindow depends on the instants, not on their spelling.
func digestWindow(system uuid.UUID, field query.TimeField, from, to time.Time) windowDigest {
	b := append(system[:], field...)
	for _, t := range []time.Time{from, to} {
		b = t.UTC().AppendFormat(append(b, ' '), time.RFC3339Nano)
	}
	digest := sha256.Sum256(b)
	return windowDigest(digest[:16])
}

// The sealed message: version, flags, milliseconds, id, window digest.
const (
	cursorVersion = 1
	cursorEarly   = 1 // a flag
	cursorHead    = 2 + 8 + 16
	cursorLength  = cursorHead + 16
)

func (c cursor) seal(s *access.Sealer, window windowDigest) string {
	message := make([]byte, 2, cursorLength)
	message[0] = cursorVersion
	if c.early {
		message[1] = cursorEarly
	}

	message = binary.BigEndian.AppendUint64(message, uint64(c.after.Time.UnixMilli()))
	message = append(message, c.after.ID[:]...)
	return s.Seal(append(message, window[:]...))
}

// openCursor opens a sealed cursor. The code is empty, cursorInvalid or cursorMismatch.
func openCursor(s *access.Sealer, text string, window windowDigest) (cursor, fieldCode) {
	message, err := s.Open(text)
	if err != nil || len(message) != cursorLength || message[0] != cursorVersion {
		return cursor{}, cursorInvalid
	}

	// The cursor is genuine, but its key means nothing in another window.
	if !bytes.Equal(message[cursorHead:], window[:]) {
		return cursor{}, cursorMismatch
	}

	return cursor{
		early: message[1]&cursorEarly != 0,
		after: query.ReportKey{
			Time: time.UnixMilli(int64(binary.BigEndian.Uint64(message[2:]))),
			ID:   uuid.UUID(message[cursorHead-16 : cursorHead]),
		},
	}, ""
}
