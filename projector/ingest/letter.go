package ingest

import (
	"strconv"
	"strings"

	"callboard/projector/store"
)

func (it Item) letter(reason string) store.DeadLetter {
	return store.DeadLetter{
		Sequence: it.Sequence,
		Subject:  printable(it.Subject),
		Header:   store.EncodeHeader(it.Header),
		Data:     it.Data,
		Reason:   printable(reason),
		StoredAt: it.StoredAt,
	}
}

// printable is s where PostgreSQL can keep it as text, and s in quotes with escapes where it can't.
func printable(s string) string {
	if valid := strings.ToValidUTF8(s, ""); valid == s && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strconv.QuoteToASCII(s)
}
