package readapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/query"
	"callboard/readapi/seal"
)

// cursor is where a walk through a report's window stands. It travels sealed, with the binding of its window.
type cursor struct {
	early bool // made before the window's end had come
	after query.Position
}

// binding identifies a window: a cursor goes with the one that it was made for.
type binding [16]byte

// bind derives the binding from the instants and not from how they are spelled.
func bind(system uuid.UUID, field query.TimeField, from, to instant) binding {
	b := append(system[:], field...)
	for _, i := range []instant{from, to} {
		b = append(b, ' ')
		b = strconv.AppendInt(b, i.millisecond.UnixMilli(), 10)
		b = append(b, '.')
		b = append(b, i.rest...)
	}
	digest := sha256.Sum256(b)
	return binding(digest[:16])
}

// The message that is sealed: version, flags, milliseconds, id, binding.
const (
	cursorVersion = 1
	cursorEarly   = 1 // a flag
	cursorHead    = 2 + 8 + 16
	cursorLength  = cursorHead + 16
)

func (c cursor) seal(s *seal.Sealer, window binding) string {
	message := make([]byte, 2, cursorLength)
	message[0] = cursorVersion
	if c.early {
		message[1] = cursorEarly
	}
	message = binary.BigEndian.AppendUint64(message, uint64(c.after.Time.UnixMilli()))
	message = append(message, c.after.ID[:]...)
	return s.Seal(append(message, window[:]...))
}

// openCursor is the cursor in a text. What is wrong with it, if anything, is the code.
func openCursor(s *seal.Sealer, text string, window binding) (cursor, fieldCode) {
	message, err := s.Open(text)
	if err != nil || len(message) != cursorLength || message[0] != cursorVersion {
		return cursor{}, cursorInvalid
	}
	if !bytes.Equal(message[cursorHead:], window[:]) {
		return cursor{}, cursorMismatch
	}
	return cursor{
		early: message[1]&cursorEarly != 0,
		after: query.Position{
			Time: time.UnixMilli(int64(binary.BigEndian.Uint64(message[2:]))),
			ID:   uuid.UUID(message[cursorHead-16 : cursorHead]),
		},
	}, ""
}
