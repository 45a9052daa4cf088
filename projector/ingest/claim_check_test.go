package ingest_test

import (
	"math"
	"testing"

	"callboard/events"
	"callboard/projector/ingest"
)

// A body that an event announces as larger than any that is fetched doesn't overflow the size of a portion.
func TestPortionSize(t *testing.T) {
	t.Parallel()
	items := make([]ingest.Decoded, 100)
	for i := range items {
		items[i].Event.State = &events.Transcript{Object: &events.Object{Bytes: math.MaxInt64}}
	}
	if got, want := ingest.PortionSize(items), 8; got != want {
		t.Errorf("portion = %d items, want %d", got, want)
	}
}
