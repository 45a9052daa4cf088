package events_test

import (
	"testing"

	"go.uber.org/goleak"

	"callboard/events/eventstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, eventstest.IgnoreObjectStoreWatcher()) }
