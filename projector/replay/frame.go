package replay

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// A frame is the length of a payload and a checksum of both, four bytes each, then the payload.
const (
	frameHeader  = 8
	maxFrame     = 256 << 20 // bytes of payload; NATS limits a message to a quarter of it
	readerBuffer = 128 << 10
)

// errDamaged is a file that doesn't hold what was written.
var errDamaged = errors.New("the file is damaged: delete the folder and start again")

func checksum(length []byte, payload []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(length, table), table, payload)
}

// appendFrame appends a frame with the payload that appendPayload appends.
func appendFrame(dst []byte, appendPayload func([]byte) []byte) []byte {
	begin := len(dst)
	dst = appendPayload(append(dst, make([]byte, frameHeader)...))
	header, payload := dst[begin:begin+frameHeader], dst[begin+frameHeader:]
	binary.BigEndian.PutUint32(header, uint32(len(payload)))
	binary.BigEndian.PutUint32(header[4:], checksum(header[:4], payload))
	return dst
}

// frameReader reads the frames of the first bytes of a file.
type frameReader struct {
	file   *os.File
	buffer *bufio.Reader
	at     int64 // where the next frame begins
	end    int64
	header [frameHeader]byte
}

// openFrames reads the frames of a file between two offsets. A file that doesn't exist is empty.
func openFrames(path string, from, end int64) (*frameReader, error) {
	if from >= end {
		return &frameReader{}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &frameReader{file: file, buffer: bufio.NewReaderSize(io.NewSectionReader(file, from, end-from), readerBuffer), at: from, end: end}, nil
}

func (r *frameReader) close() {
	if r.file != nil {
		_ = r.file.Close() // it was only read
	}
}

// next returns the next frame's payload in newly allocated memory. The error is [io.EOF] after the last one.
func (r *frameReader) next() ([]byte, error) {
	if r.at == r.end {
		return nil, io.EOF
	}
	payload, err := readFrame(r.buffer, r.header[:], r.end-r.at)
	if err != nil {
		return nil, fmt.Errorf("%s at %d: %w", r.file.Name(), r.at, err)
	}
	r.at += frameHeader + int64(len(payload))
	return payload, nil
}

// readFrame reads a frame of which at most limit bytes can be there.
func readFrame(r io.Reader, header []byte, limit int64) ([]byte, error) {
	if limit < frameHeader {
		return nil, errDamaged
	}
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, orDamaged(err)
	}
	length := int64(binary.BigEndian.Uint32(header))
	if length > min(limit-frameHeader, maxFrame) {
		return nil, errDamaged
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, orDamaged(err)
	}
	if checksum(header[:4], payload) != binary.BigEndian.Uint32(header[4:]) {
		return nil, errDamaged
	}
	return payload, nil
}

func orDamaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged
	}
	return err
}
