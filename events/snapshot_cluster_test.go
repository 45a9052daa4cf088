//go:build !race

// NATS 2.15 itself has a data race: a server of a cluster that changes a stream can read the stream's group while
// another goroutine sets it. The race detector would fail the test.

package events_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

// A stream of three servers is restored on three servers, and on one.
func TestSaveAndRestore_Cluster(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewCluster(t).URL())
	config := events.StreamConfig(events.StreamName, 4, 3)
	eventstest.Eventually(t, "a stream on three servers", func() bool {
		_, err := js.CreateStream(t.Context(), config)
		return err == nil
	})
	publishRandom(t, js, 30, 10_000)
	want := streamMessages(t, phonesStream(t, js))
	var file bytes.Buffer
	saved, err := events.SaveSnapshot(t.Context(), js.Conn(), events.StreamName, &file)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), events.StreamName); err != nil {
		t.Fatal(err)
	}
	single, err := saved.WithReplicas(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		js       jetstream.JetStream
		stream   events.Snapshot
		replicas int
	}{
		{js, saved, 3},
		{eventstest.JetStream(t, eventstest.NewServer(t).URL()), single, 1},
	} {
		// The leader of the cluster may learn of the deletion after the leader of the stream.
		eventstest.Eventually(t, fmt.Sprintf("it is restored on %d servers", c.replicas), func() bool {
			return events.RestoreSnapshot(t.Context(), c.js.Conn(), events.StreamName, c.stream, bytes.NewReader(file.Bytes())) == nil
		})
		restored := phonesStream(t, c.js)
		if got := streamMessages(t, restored); !reflect.DeepEqual(got, want) {
			t.Errorf("messages on %d servers = %.300v, want %.300v", c.replicas, got, want)
		}
		if got := restored.CachedInfo().Config.Replicas; got != c.replicas {
			t.Errorf("replicas = %d, want %d", got, c.replicas)
		}
		publishRandom(t, c.js, 1, 10)
	}
}
