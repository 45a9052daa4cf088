package store

import (
	"encoding/binary"
	"errors"
	"strings"
)

// COPY's binary format is a signature, flags and the length of a header extension, four bytes each; then rows, each beginning with the
// number of its columns in two bytes; then a number that marks the end.
const (
	copySignature = "PGCOPY\n\xff\r\n\x00"
	copyHeader    = len(copySignature) + 4 + 4
	copyEnd       = 0xffff
)

var errCopy = errors.New("unexpected data: not COPY's binary format with the requested columns")

// copyOut is the destination of a COPY out of one table. It yields the rows.
type copyOut struct {
	*decoder
	yield func(Row, error) bool

	rest    []byte // the bytes of a row that isn't complete yet
	encoded []byte // the row that is yielded
	begun   bool   // the header was read
	ended   bool   // the end was read
	stopped bool   // the caller wants no more rows
}

// Write implements [io.Writer]. The parts can be cut anywhere.
func (c *copyOut) Write(p []byte) (int, error) {
	data := p
	if len(c.rest) > 0 {
		data = append(c.rest, p...)
	}
	for {
		if c.stopped {
			return len(p), nil
		}
		n, err := c.next(data)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		data = data[n:]
	}
	c.rest = append(c.rest[:0], data...)
	return len(p), nil
}

// checkEnd returns an error if the copy ended early.
func (c *copyOut) checkEnd() error {
	if !c.ended && !c.stopped {
		return errCopy
	}
	return nil
}

// next reads the header, a row or the end at the beginning of data, and returns its size; 0: it isn't complete.
func (c *copyOut) next(data []byte) (int, error) {
	switch {
	case !c.begun:
		return c.header(data)
	case len(data) < 2:
		return 0, nil
	case c.ended:
		return 0, errCopy
	case binary.BigEndian.Uint16(data) == copyEnd:
		c.ended = true
		return 2, nil
	}
	size, err := c.size(data)
	if size > 0 {
		c.encoded = append(append(c.encoded[:0], c.name...), data[:size]...)
		c.stopped = !c.yield(c.row(c.encoded), nil)
	}
	return size, err
}

func (c *copyOut) header(data []byte) (int, error) {
	if len(data) < copyHeader {
		return 0, nil
	}
	if !strings.HasPrefix(string(data[:copyHeader]), copySignature+"\x00\x00\x00\x00\x00\x00\x00\x00") {
		return 0, errCopy
	}
	c.begun = true
	return copyHeader, nil
}

// size returns the size of the row at the beginning of data; 0: it isn't complete.
func (c *copyOut) size(data []byte) (int, error) {
	if int(binary.BigEndian.Uint16(data)) != c.present {
		return 0, errCopy
	}
	end := 2
	for range c.present {
		if len(data) < end+4 {
			return 0, nil
		}
		n := int(int32(binary.BigEndian.Uint32(data[end:])))
		if n < -1 {
			return 0, errCopy
		}
		if end += 4 + max(n, 0); len(data) < end {
			return 0, nil
		}
	}
	return end, nil
}
