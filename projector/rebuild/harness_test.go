package rebuild_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/sample"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childNATS) != "" {
		os.Exit(runChild())
	}
	schematest.Run(m, func() error { return goleak.Find(eventstest.IgnoreObjectStoreWatcher()) })
}

// stage is a stream, a database, projectors between the two, and rebuilds.
type stage struct {
	*projectortest.Harness
}

func newStage(tb testing.TB) *stage {
	tb.Helper()
	return &stage{projectortest.NewHarness(tb)}
}

func (s *stage) config() rebuild.Config {
	return rebuild.Config{JetStream: s.JetStream, Stream: events.StreamName, Database: s.Pool}
}

// with is a config whose progress is heard.
func (s *stage) with(hear func(rebuild.Progress)) rebuild.Config {
	c := s.config()
	c.Progress = hear
	return c
}

// company is a history in which everything happens.
func company(seed uint64, calls int) []events.Event {
	c := sample.New(sample.Config{Seed: seed, Systems: 6, Calls: calls, Days: 20, Until: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	return slices.AppendSeq(slices.Collect(c.Directory()), c.History())
}

// poison publishes what nobody can read.
func (s *stage) poison() {
	s.Helper()
	s.PublishRaw("phones.7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10.call", nil, "{")
	s.PublishRaw("phones.nobody.fax", nil, "")
}

// verify holds the live projection against the stream.
func (s *stage) verify(systems ...uuid.UUID) rebuild.Comparison {
	s.TB.Helper()
	result, err := rebuild.Verify(s.TB.Context(), s.config(), systems...)
	if err != nil {
		s.TB.Fatal(err)
	}
	return result
}

// mustVerify fails where verification finds anything.
func (s *stage) mustVerify(what string) {
	s.TB.Helper()
	if result := s.verify(); result.Differs() {
		s.TB.Errorf("%s: %+v", what, result)
	}
}
