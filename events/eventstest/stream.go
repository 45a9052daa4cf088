package eventstest

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// JetStream connects to a server and returns its JetStream; the connection is closed when the test ends.
func JetStream(tb testing.TB, url string) jetstream.JetStream {
	tb.Helper()
	js, err := jetstream.New(Connect(tb, url))
	if err != nil {
		tb.Fatalf("jetstream: %v", err)
	}
	return js
}

// CreateStream creates the stream of events, with the settings that production has, and the transcripts' bucket.
func CreateStream(tb testing.TB, js jetstream.JetStream, partitions int) jetstream.Stream {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stream, err := js.CreateStream(ctx, events.StreamConfig(events.StreamName, partitions, 1))
	if err != nil {
		tb.Fatalf("stream: %v", err)
	}
	if _, err := js.CreateObjectStore(ctx, events.BucketConfig(1)); err != nil {
		tb.Fatalf("bucket: %v", err)
	}
	return stream
}
