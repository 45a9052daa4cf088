package replay

import (
	"encoding/binary"
	"time"

	"github.com/nats-io/nats.go"

	"callboard/events"
)

// Message is a message of the stream.
type Message struct {
	events.Message
	Sequence uint64
	StoredAt time.Time
}

// record is a message as it is spooled.
type record struct {
	Message
	clock     events.Time // of the partition, with its caps, without its adjustments
	hash      uint64      // says in which slot the record is folded, and in which piece of it
	reference bool        // the record is in all slots
}

const flagReference = 1

// appendTo appends the record's bytes: numbers of fixed size, the last of which is the size of the texts, then the subject and the header's
// values with their lengths, then the body.
func (r *record) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, r.Sequence)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.StoredAt.UnixNano()))
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.clock))
	dst = binary.BigEndian.AppendUint64(dst, r.hash)
	flags := byte(0)
	if r.reference {
		flags |= flagReference
	}
	dst = append(dst, flags, 0, 0, 0, 0) // the size is set below
	texts := len(dst)
	dst = appendBytes(dst, r.Subject)
	dst = binary.AppendUvarint(dst, uint64(len(r.Header)))
	for name, values := range r.Header {
		dst = binary.AppendUvarint(appendBytes(dst, name), uint64(len(values)))
		for _, value := range values {
			dst = appendBytes(dst, value)
		}
	}
	binary.BigEndian.PutUint32(dst[texts-4:], uint32(len(dst)-texts))
	return append(dst, r.Data...)
}

func appendBytes(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// parseRecord reads a record. Its body lies in payload, and its texts share memory of their own.
func parseRecord(payload []byte) (record, error) {
	p := parser{rest: payload}
	r := record{Message: Message{Sequence: p.uint64(), StoredAt: time.Unix(0, int64(p.uint64()))}}
	r.clock, r.hash = events.Time(p.uint64()), p.uint64()
	r.reference = p.byte()&flagReference != 0
	texts := parser{rest: p.take(p.uint32())}
	r.parseTexts(&texts)
	r.Data = p.rest
	if p.damaged || texts.damaged || len(texts.rest) > 0 {
		return record{}, errDamaged
	}
	return r, nil
}

func (r *record) parseTexts(p *parser) {
	all := string(p.rest)
	text := func() string {
		n := len(p.take(p.count()))
		end := len(all) - len(p.rest)
		return all[end-n : end]
	}
	r.Subject = text()
	names := p.count()
	if names == 0 {
		return
	}
	r.Header = make(nats.Header, names)
	values := make([]string, 0, names)
	for range names {
		name, first := text(), len(values)
		for range p.count() {
			values = append(values, text())
		}
		r.Header[name] = values[first:len(values):len(values)]
	}
}

// parser takes values from the beginning of some bytes. Where they end early, it is damaged and returns zero values.
type parser struct {
	rest    []byte
	damaged bool
}

func (p *parser) take(n int) []byte {
	if p.damaged || n > len(p.rest) {
		p.damaged = true
		return nil
	}
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	return taken
}

func (p *parser) byte() byte {
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *parser) uint64() uint64 {
	if b := p.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (p *parser) uint32() int {
	if b := p.take(4); b != nil {
		return int(binary.BigEndian.Uint32(b))
	}
	return 0
}

// count returns a number that is not above that of the remaining bytes.
func (p *parser) count() int {
	n, size := binary.Uvarint(p.rest)
	if size <= 0 || n > uint64(len(p.rest)-size) {
		p.damaged = true
		return 0
	}
	p.rest = p.rest[size:]
	return int(n)
}
