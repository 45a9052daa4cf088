package limit

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// encodingVersion is the first byte of an encoded log. A reader refuses to decide on a log of another version: an empty one in its place
// would give all permits again.
const encodingVersion = 1

// encode returns the encoded log. All integers are unsigned varints, but for origin and reader, which have 8 bytes in big endian:
//
//	version, origin, newest tick,
//	number of writers, and of each: reader, number of its write,
//	number of buckets, and of each: length of the name, name, fresh permits, number of ticks,
//	    and of each tick, latest first: how far it is before the one before it or the log's newest, permits
func (l *permitLog) encode() []byte {
	to := binary.BigEndian.AppendUint64([]byte{encodingVersion}, l.origin)
	to = binary.AppendUvarint(to, uint64(l.newest))
	to = binary.AppendUvarint(to, uint64(len(l.writers)))
	for _, w := range l.writers {
		to = binary.AppendUvarint(binary.BigEndian.AppendUint64(to, w.reader), w.number)
	}
	to = binary.AppendUvarint(to, uint64(len(l.buckets)))
	for _, b := range l.buckets {
		to = append(binary.AppendUvarint(to, uint64(len(b.name))), b.name...)
		to = binary.AppendUvarint(to, uint64(b.fresh))
		to = appendPermits(to, b.permits, l.newest)
	}
	return to
}

func appendPermits(to []byte, list []permits, newest tick) []byte {
	to = binary.AppendUvarint(to, uint64(len(list)))
	for i := len(list) - 1; i >= 0; i-- {
		to = binary.AppendUvarint(to, uint64(newest-list[i].at))
		to = binary.AppendUvarint(to, uint64(list[i].count))
		newest = list[i].at
	}
	return to
}

var errMalformed = errors.New("the log is malformed")

// parseLog decodes a log.
func parseLog(data []byte) (permitLog, error) {
	if len(data) == 0 || data[0] != encodingVersion {
		return permitLog{}, fmt.Errorf("%w: its encoding is not version %d: another release has written it", errMalformed, encodingVersion)
	}
	d := decoder{rest: data[1:]}
	l := permitLog{origin: d.word(), newest: tick(d.number(maxTick))}
	for range d.number(maxWriters) {
		l.writers = append(l.writers, writer{d.word(), d.number(maxNumber)})
	}
	for range d.number(uint64(len(d.rest))) {
		b := bucketLog{name: string(d.bytes(d.number(uint64(len(d.rest)))))}
		fresh := d.number(maxPermits)
		d.permits(&b, l.newest)
		if b.fresh = int(fresh); !b.plausible(l.newest) || len(l.buckets) > 0 && l.buckets[len(l.buckets)-1].name >= b.name {
			d.failed = true
		}
		l.buckets = append(l.buckets, b)
	}
	if d.failed || len(d.rest) > 0 {
		return permitLog{}, errMalformed
	}
	return l, nil
}

// plausible reports whether there are permits, and the fresh ones are among those of the newest tick.
func (b *bucketLog) plausible(newest tick) bool {
	last := len(b.permits) - 1
	return last >= 0 && (b.fresh == 0 || b.permits[last].at == newest && b.permits[last].count >= b.fresh)
}

// The largest numbers of a log, so that sums do not overflow.
const (
	maxTick    = 1 << 40
	maxPermits = MaxPerMinute
	maxNumber  = 1 << 62
)

// decoder reads from the front of rest. After a failure it returns zeros.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) bytes(n uint64) []byte {
	if d.failed || n > uint64(len(d.rest)) {
		d.failed = true
		return nil
	}
	read := d.rest[:n]
	d.rest = d.rest[n:]
	return read
}

func (d *decoder) word() uint64 {
	if b := d.bytes(8); len(b) == 8 {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) number(most uint64) uint64 {
	n, size := binary.Uvarint(d.rest)
	if d.failed || size <= 0 || n > most {
		d.failed = true
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) permits(b *bucketLog, newest tick) {
	list := make([]permits, d.number(uint64(len(d.rest))))
	for i := len(list) - 1; i >= 0 && !d.failed; i-- {
		before, count := d.number(maxTick), d.number(maxPermits)
		if count == 0 || before == 0 && i < len(list)-1 || tick(before) > newest {
			d.failed = true
		}
		newest -= tick(before)
		list[i] = permits{newest, int(count)}
		b.total += int(count)
	}
	b.permits = list
}
