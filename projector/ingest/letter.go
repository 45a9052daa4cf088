package ingest

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"callboard/projector/store"
)

func (it Item) letter(reason string) store.DeadLetter {
	return store.DeadLetter{
		Sequence: it.Sequence,
		Subject:  printable(it.Subject),
		Header:   wire(it.Header),
		Data:     it.Data,
		Reason:   printable(reason),
		StoredAt: it.StoredAt,
	}
}

// wire is a header as it travels in the NATS protocol.
func wire(h nats.Header) []byte {
	var b bytes.Buffer
	b.WriteString("NATS/1.0\r\n")
	for key, values := range h {
		for _, value := range values {
			b.WriteString(key + ": " + value + "\r\n")
		}
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// printable is s where PostgreSQL can keep it as text, and s in quotes with escapes where it can't.
func printable(s string) string {
	if valid := strings.ToValidUTF8(s, ""); valid == s && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strconv.QuoteToASCII(s)
}
