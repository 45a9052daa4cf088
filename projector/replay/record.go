package replay

import (
	"encoding/binary"
	"time"

	"callboard/events"
)

// record is a message as it is spooled.
type record struct {
	events.StoredMessage
	clock     events.Time // of the partition, with its caps, without its adjustments
	hash      uint64      // says in which slot the record is folded, and in which piece of it
	reference bool        // the record is in all slots
}

const flagReference = 1

// appendTo appends the record's bytes: numbers of fixed size, then the message.
func (r *record) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, r.Sequence)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.StoredAt.UnixNano()))
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.clock))
	dst = binary.BigEndian.AppendUint64(dst, r.hash)
	flags := byte(0)
	if r.reference {
		flags |= flagReference
	}
	return r.AppendTo(append(dst, flags))
}

// parseRecord reads a record. Its body lies in payload.
func parseRecord(payload []byte) (record, error) {
	p := parser{rest: payload}
	r := record{StoredMessage: events.StoredMessage{Sequence: p.uint64(), StoredAt: time.Unix(0, int64(p.uint64()))}}
	r.clock, r.hash = events.Time(p.uint64()), p.uint64()
	r.reference = p.byte()&flagReference != 0
	var ok bool
	if r.Message, ok = events.ParseMessage(p.rest); !ok || p.damaged {
		return record{}, errDamaged
	}
	return r, nil
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
