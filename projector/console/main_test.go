package console

import (
	"testing"

	"go.uber.org/goleak"

	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m, func() error { return goleak.Find() }) }
