package projector_test

import (
	"os"
	"testing"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childNATS) != "" {
		os.Exit(runChild())
	}
	schematest.Run(m, func() error { return goleak.Find(eventstest.StoredObject()) })
}

// stage is a stream, a database and projectors between the two.
type stage struct {
	*projectortest.Stage
}

func newStage(tb testing.TB) *stage {
	tb.Helper()
	return &stage{projectortest.NewStage(tb)}
}

// raw publishes a message as it is.
func (s *stage) raw(subject string, header nats.Header, data string) uint64 {
	s.TB.Helper()
	ack, err := s.JetStream.PublishMsg(s.TB.Context(), &nats.Msg{Subject: subject, Header: header, Data: []byte(data)})
	if err != nil {
		s.TB.Fatal(err)
	}
	return ack.Sequence
}
