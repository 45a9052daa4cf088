package store_test

import (
	"testing"

	"callboard/projector/store"
)

// Two databases that record the same dead letter have the same bytes.
func TestEncodeHeader_SortsNames(t *testing.T) {
	t.Parallel()
	header := map[string][]string{"ce-type": {"t"}, "Nats-Msg-Id": {"1"}, "ce-id": {"a", "b"}, "ce-time": {""}}
	const want = "NATS/1.0\r\nNats-Msg-Id: 1\r\nce-id: a\r\nce-id: b\r\nce-time: \r\nce-type: t\r\n\r\n"
	if got := string(store.EncodeHeader(header)); got != want {
		t.Errorf("EncodeHeader = %q, want %q", got, want)
	}
}
