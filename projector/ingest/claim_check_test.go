package ingest_test

import (
	"math"
	"testing"

	"callboard/events"
	"callboard/projector/ingest"
)

// A body that an event announces as larger than any that is fetched doesn't overflow the size of a portion.
func TestCountFitting(t *testing.T) {
	t.Parallel()
	decoded := make([]ingest.Decoded, 100)
	for i := range decoded {
		decoded[i].Event.State = &events.Transcript{Object: &events.Object{Bytes: math.MaxInt64}}
	}
	if got, want := ingest.CountFitting(decoded), 8; got != want {
		t.Errorf("messages that fit = %d, want %d", got, want)
	}
}
