package events

import "time"

// StoredMessage is a message of a stream.
type StoredMessage struct {
	Message
	Sequence uint64
	StoredAt time.Time
}

// headerBytes is about what a header takes in memory beside its text.
const headerBytes = 128

// Size returns about how many bytes of memory the subject, the headers and the body take.
func (m Message) Size() int {
	size := len(m.Subject) + len(m.Data)
	for name, values := range m.Header {
		for _, value := range values {
			size += len(name) + len(value) + headerBytes
		}
	}
	return size
}
