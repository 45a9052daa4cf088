package store

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Digest stands for a set of rows, whatever their order: how many, how large, and the sum of what their SHA-256 begin with, as numbers of 128
// bits. Two sets are equal if their digests compare with ==. The zero Digest is that of no rows.
type Digest struct {
	Rows  int64
	Bytes int64    // of all rows
	Sum   [16]byte // big endian
}

// Add adds a row.
func (d *Digest) Add(row Row) {
	hash := sha256.Sum256(row.encoded)
	low, carry := bits.Add64(binary.BigEndian.Uint64(d.Sum[8:]), binary.BigEndian.Uint64(hash[8:16]), 0)
	high, _ := bits.Add64(binary.BigEndian.Uint64(d.Sum[:8]), binary.BigEndian.Uint64(hash[:8]), carry)
	binary.BigEndian.PutUint64(d.Sum[8:], low)
	binary.BigEndian.PutUint64(d.Sum[:8], high)
	d.Rows++
	d.Bytes += int64(len(row.encoded))
}

// Equal tells whether the two stand for the same rows.
func (d Digest) Equal(other Digest) bool { return d == other }
