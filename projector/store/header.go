package store

import (
	"bytes"
	"maps"
	"slices"
)

// EncodeHeader encodes a message's header in the form of the NATS protocol, in which dead letters store it. Names
// are sorted.
func EncodeHeader(header map[string][]string) []byte {
	var b bytes.Buffer
	b.WriteString("NATS/1.0\r\n")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			b.WriteString(name + ": " + value + "\r\n")
		}
	}
	b.WriteString("\r\n")
	return b.Bytes()
}
