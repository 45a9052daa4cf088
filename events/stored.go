package events

import (
	"encoding/binary"
	"time"

	"github.com/nats-io/nats.go"
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

// AppendTo appends the message as [ParseMessage] reads it: the size of the texts in four bytes, then the subject and the headers' names and
// values with their lengths, then the body.
func (m Message) AppendTo(dst []byte) []byte {
	dst = append(dst, 0, 0, 0, 0) // the size is set below
	texts := len(dst)
	dst = appendText(dst, m.Subject)
	dst = binary.AppendUvarint(dst, uint64(len(m.Header)))
	for name, values := range m.Header {
		dst = binary.AppendUvarint(appendText(dst, name), uint64(len(values)))
		for _, value := range values {
			dst = appendText(dst, value)
		}
	}
	binary.BigEndian.PutUint32(dst[texts-4:], uint32(len(dst)-texts))
	return append(dst, m.Data...)
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// ParseMessage reads the message that was appended to nothing. Its body lies in data, and its texts share memory of their own. It is not ok
// where data holds no message.
func ParseMessage(data []byte) (m Message, ok bool) {
	if len(data) < 4 {
		return Message{}, false
	}
	size := int64(binary.BigEndian.Uint32(data))
	if data = data[4:]; size > int64(len(data)) {
		return Message{}, false
	}
	p := textParser{rest: string(data[:size])}
	m.Subject = p.text()
	m.Header = p.header()
	m.Data = data[size:]
	return m, !p.damaged && p.rest == ""
}

// textParser takes texts from the beginning of others. Where they end early, it is damaged and returns empty texts.
type textParser struct {
	rest    string
	damaged bool
}

func (p *textParser) header() nats.Header {
	names := p.count()
	if names == 0 {
		return nil
	}
	h := make(nats.Header, names)
	values := make([]string, 0, names)
	for range names {
		name, first := p.text(), len(values)
		for range p.count() {
			values = append(values, p.text())
		}
		h[name] = values[first:len(values):len(values)]
	}
	return h
}

func (p *textParser) text() string {
	n := p.count()
	text := p.rest[:n]
	p.rest = p.rest[n:]
	return text
}

// count returns a number that is not above that of the remaining bytes.
func (p *textParser) count() int {
	var n uint64
	for i := 0; i < len(p.rest) && i < binary.MaxVarintLen32; i++ {
		b := p.rest[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			if p.rest = p.rest[i+1:]; n > uint64(len(p.rest)) {
				break
			}
			return int(n)
		}
	}
	p.rest, p.damaged = "", true
	return 0
}
