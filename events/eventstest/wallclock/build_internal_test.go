package wallclock

import (
	"errors"
	"testing"
)

func TestMoveClock_RefusesOtherSources(t *testing.T) {
	for name, source := range map[string]string{
		"none":    "package time\n\nfunc Now() Time {\n\treturn Time{}\n}\n",
		"changed": "func Now() Time {\n\tsec, nsec, mono := now()\n",
		"two":     nowSource + "}\n" + nowSource,
	} {
		if _, err := moveClock(source); !errors.Is(err, errNoClock) {
			t.Errorf("%s: error = %v, want %v", name, err, errNoClock)
		}
	}
}
