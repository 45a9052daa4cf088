package connection_test

import (
	"testing"

	"go.uber.org/goleak"

	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	eventstest.RunAtOnce(8)
	schematest.Run(m, func() error { return goleak.Find() })
}
