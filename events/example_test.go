package events_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

func ExamplePublisher() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	connection, err := nats.Connect("nats://127.0.0.1:4222")
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
