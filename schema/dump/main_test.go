package dump_test

import (
	"testing"

	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m) }
