package scenario_test

import (
	"bytes"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
)

// tampered publishes an event in whose data one text stands for another, past the publisher's own checks.
func (s *stage) tampered(e events.Event, old, instead string) {
	s.t.Helper()
	e.ID, e.Source = uuid.NewString(), "elsewhere"
	m, err := events.Encode(e)
	if err != nil {
		s.t.Fatal(err)
	}
	if !bytes.Contains(m.Data, []byte(old)) {
		s.t.Fatalf("%s is not in %s", old, m.Data)
	}
	data := bytes.ReplaceAll(m.Data, []byte(old), []byte(instead))
	if _, err := s.js.PublishMsg(s.t.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: data}); err != nil {
		s.t.Fatal(err)
	}
	s.settle()
}
