package store

import (
	"encoding/binary"
	"errors"
	"strings"
)

// COPY's binary format: a signature, flags and the length of what else the header holds, four bytes each; rows, each beginning with
// the number of its columns in two bytes; and a number that ends it.
const (
	copySignature = "PGCOPY\n\xff\r\n\x00"
	copyHeader    = len(copySignature) + 4 + 4
	copyEnd       = 0xffff
)

var errCopy = errors.New("not COPY's binary format with the columns that were asked for")

// copyOut is written to by a COPY out of one table and yields its rows.
type copyOut struct {
	*framing
	yield func(Row, error) bool

	rest    []byte // of what was written: a row that isn't whole
	encoded []byte // of the row that is yielded
	begun   bool   // the header was read
	ended   bool
	stopped bool // nobody wants more
}

// Write takes the next part, wherever it is cut.
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

// whole is an error where the copy ended early.
func (c *copyOut) whole() error {
	if !c.ended && !c.stopped {
		return errCopy
	}
	return nil
}

// next takes the header, a row or the end off the data and returns its size; 0: it isn't whole.
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

// size is that of the row that data begins with; 0: it isn't whole.
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
