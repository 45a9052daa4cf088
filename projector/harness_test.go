package projector_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childNATS) != "" {
		os.Exit(runChild())
	}
	schematest.Run(m, func() error { return goleak.Find(eventstest.IgnoreObjectStoreWatcher()) })
}

// stage is a stream, a database and projectors between the two.
type stage struct {
	*projectortest.Harness
}

func newStage(tb testing.TB) *stage {
	tb.Helper()
	return &stage{projectortest.NewHarness(tb)}
}
