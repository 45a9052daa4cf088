package events_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

func ExamplePublisher() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	url, stop := startServer() // a NATS server in this process
	defer stop()
	connection, err := nats.Connect(url, nats.Timeout(time.Minute))
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	js, err := jetstream.New(connection)
	if err != nil {
		panic(err)
	}
	// An operator creates the stream once, with "callboard stream create".
	if _, err := events.EnsureStream(ctx, js, events.StreamConfig(events.StreamName, events.DefaultPartitions, 1)); err != nil {
		panic(err)
	}

	system := uuid.MustParse("7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10")
	publisher := events.NewPublisher(js, "/pbx/eu-1")
	err = publisher.Publish(ctx,
		events.Changed(&events.PhoneSystem{ID: system, Version: 1, Name: "Harbor Dental"}),
		events.Changed(&events.Representative{ID: uuid.New(), PhoneSystemID: system, Version: 1, Name: "Dana Whitfield", Status: "active"}),
	)
	var unacknowledged *events.UnacknowledgedError
	if errors.As(err, &unacknowledged) {
		fmt.Println("publish these again:", unacknowledged.Events)
	} else if err != nil {
		panic(err)
	}

	stream, err := js.Stream(ctx, events.StreamName)
	if err != nil {
		panic(err)
	}
	for sequence := uint64(1); sequence <= 2; sequence++ {
		stored, err := stream.GetMsg(ctx, sequence)
		if err != nil {
			panic(err)
		}
		fmt.Println(stored.Subject, stored.Header.Get("ce-type"), stored.Header.Get("ce-source"))
	}
	// Output:
	// phones.9.7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10.phone-system callboard.phone-system.changed /pbx/eu-1
	// phones.9.7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10.representative callboard.representative.changed /pbx/eu-1
}

func ExampleDecode() {
	event, err := events.Decode(events.Message{
		Subject: "phones.7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10.phone-system",
		Header: nats.Header{
			"ce-specversion": {"1.0"},
			"ce-id":          {"42"},
			"ce-source":      {"/pbx/eu-1"},
			"ce-type":        {"callboard.phone-system.changed"},
			"Content-Type":   {"application/json"},
		},
		Data: []byte(`{"id": "7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10", "version": 3, "name": "Harbor Dental"}`),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(event.Type(), event.System, event.Version)
	switch state := event.State.(type) {
	case *events.PhoneSystem:
		fmt.Println(state.Name, state.OrganizationID.Valid)
	case nil:
		fmt.Println("deleted")
	}
	// Output:
	// callboard.phone-system.changed 7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10 3
	// Harbor Dental false
}

func ExampleDecode_invalid() {
	_, err := events.Decode(events.Message{
		Subject: "phones.7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10.phone-system",
		Header:  nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"42"}, "ce-type": {"callboard.phone-system.changed"}},
		Data:    []byte(`{"id": "7d0d6b8e", "version": "3", "name": "Harbor Dental"}`),
	})
	var invalid *events.InvalidError
	if errors.As(err, &invalid) {
		for _, problem := range invalid.Problems {
			fmt.Println(problem.Pointer, problem.Detail)
		}
	}
	// Output:
	// header:ce-source is required
	// /id must be a UUID
	// /version must be an integer
}

// startServer starts a NATS server with JetStream for an example, which has no testing.TB.
func startServer() (url string, stop func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	running, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true, AuthTimeout: 60,
	})
	if err != nil {
		panic(err)
	}
	running.Start()
	if !running.ReadyForConnections(time.Minute) {
		panic("the NATS server is not ready after a minute")
	}
	return running.ClientURL(), func() {
		running.Shutdown()
		running.WaitForShutdown()
		_ = os.RemoveAll(dir)
	}
}
