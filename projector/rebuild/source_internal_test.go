package rebuild

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

// answers are what a server says about the stream, one answer after the other: where it ends. The last one stands.
type answers struct {
	jetstream.JetStream
	replicas int
	ends     []uint64
	given    int
}

func (a *answers) Stream(context.Context, string) (jetstream.Stream, error) {
	end := a.ends[min(a.given, len(a.ends)-1)]
	a.given++
	return answer{info: &jetstream.StreamInfo{
		Config:  jetstream.StreamConfig{Name: events.StreamName, Replicas: a.replicas},
		Cluster: &jetstream.ClusterInfo{Leader: "n1"},
		State:   jetstream.StreamState{LastSeq: end},
	}}, nil
}

type answer struct {
	jetstream.Stream
	info *jetstream.StreamInfo
}

func (a answer) CachedInfo() *jetstream.StreamInfo { return a.info }

// source opens the stream with the first answer.
func (a *answers) source(t *testing.T) *source {
	t.Helper()
	opened, err := ingest.OpenMirror(t.Context(), a, events.StreamName, store.Stream{Name: events.StreamName}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return &source{Source: opened, js: a}
}

// A server that does not know that it leads a replicated stream no more lacks the newest messages. What it says does not make a position lost.
func TestSource_ConfirmsLostPositions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		replicas int
		ends     []uint64 // the first one when the stream is opened
		valid    int
		looks    int
	}{
		"whole":                          {3, []uint64{10}, 1, 1},
		"a former leader answers":        {3, []uint64{9, 9, 9, 10}, 1, 3},
		"lost":                           {3, []uint64{9}, 0, 16},
		"lost by a stream of one server": {1, []uint64{9}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{replicas: test.replicas, ends: test.ends}
				s := a.source(t)
				position := store.Position{Stream: s.History, Sequence: 10}
				valid, err := s.confirmedPositions(t.Context(), map[int16]store.Position{0: position, 1: {Stream: store.Stream{Name: "OTHER"}}})
				if err != nil || len(valid) != test.valid {
					t.Errorf("valid positions = %d, error = %v, want %d", len(valid), err, test.valid)
				}
				if looks := a.given - 1; looks != test.looks {
					t.Errorf("looks = %d, want %d", looks, test.looks)
				}
			})
		})
	}
}

// Messages that were applied before are not skipped because a server does not have them.
func TestSource_ReadsNoStreamThatEndsEarlier(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{replicas: replicas, ends: []uint64{9}}
			err := a.source(t).read(t.Context(), "", 9, 10, func([]events.StoredMessage) error { return nil })
			if err == nil || !strings.Contains(err.Error(), "ends at sequence 9") {
				t.Errorf("%d replicas: error = %v, want that the stream ends before", replicas, err)
			}
			if again := a.given > 2; again != (replicas > 1) {
				t.Errorf("%d replicas: answers = %d, want more than one only of a replicated stream", replicas, a.given-1)
			}
		})
	}
}
