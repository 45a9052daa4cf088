package connection_test

import (
	"testing"

	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	eventstest.RunAtOnce(8)
	schematest.RunAndFindLeaks(m)
}
