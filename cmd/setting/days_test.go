package setting_test

import (
	"io"
	"strings"
	"testing"

	"callboard/cmd/setting"
)

// keeping has a setting of days.
type keeping struct {
	Days setting.Days `name:"audit-days" setting:"CALLBOARD_AUDIT_DAYS" default:"90"`
}

// Run is what kong wants of a program.
func (*keeping) Run() error { return nil }

func parseDays(value string) (int, error) {
	program := &keeping{}
	_, err := setting.Parse(program, setting.Source{Getenv: func(string) string { return value }, Out: io.Discard})
	return program.Days.Get(), err
}

func TestDays(t *testing.T) {
	for value, want := range map[string]int{"": 90, "1": 1, "36500": 36500} {
		if got, err := parseDays(value); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", value, got, err, want)
		}
	}
}

func TestDays_Bounds(t *testing.T) {
	for _, value := range []string{"0", "-1", "36501", "2000000", "99999999999999999999", "1.5", "many"} {
		_, err := parseDays(value)
		if err == nil || !strings.Contains(err.Error(), "CALLBOARD_AUDIT_DAYS") || !strings.Contains(err.Error(), "from 1 to 36500") {
			t.Errorf("%q: %v", value, err)
		}
	}
}
