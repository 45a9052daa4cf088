package events

import (
	"time"
)

// StoredMessage is a message of a stream.
type StoredMessage struct {
	Message
	Sequence uint64
	StoredAt time.Time
}

// Size returns how many bytes the subject, the headers and the body have.
func (m Message) Size() int {
	size := len(m.Subject) + len(m.Data)
	for name, values := range m.Header {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	return size
}
