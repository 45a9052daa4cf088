package deploy_test

import (
	"testing"

	"callboard/events/eventstest"
)

func TestImports(t *testing.T) { eventstest.Imports(t) }
