package setting_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"callboard/cmd/setting"
)

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "0d": 0, "36500d": 36500 * 24 * time.Hour,
		"90m": 90 * time.Minute, "720h": 720 * time.Hour, "1h30m15s": time.Hour + 30*time.Minute + 15*time.Second, "0s": 0, "-1s": -time.Second,
	} {
		var got setting.Duration
		if err := got.UnmarshalText([]byte(text)); err != nil || time.Duration(got) != want {
			t.Errorf("%s: duration = %v, error = %v, want %v", text, time.Duration(got), err, want)
		}
		var again setting.Duration
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != got {
			t.Errorf("%s: %s reads as %v, error = %v", text, got, time.Duration(again), err)
		}
	}
	for _, text := range []string{"", "d", "x", "7", "-7d", "1.5d", "7d1d", "7d24h", "7d-1h", "36501d", "99999999999d", "7 d"} {
		var got setting.Duration
		if err := got.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "write 90m, 24h or 7d") {
			t.Errorf("%q: duration = %v, error = %v, want an error with examples", text, time.Duration(got), err)
		}
	}
}

func TestDuration_String(t *testing.T) {
	for d, want := range map[time.Duration]string{
		7 * 24 * time.Hour: "7d", 36 * time.Hour: "1d12h", time.Hour: "1h", 90 * time.Minute: "1h30m", 20 * time.Minute: "20m", 10 * time.Second: "10s", 0: "0s",
	} {
		if got := setting.Duration(d).String(); got != want {
			t.Errorf("%v: text = %s, want %s", d, got, want)
		}
	}
}

// A flag of that type takes days, also from its default and through a pointer.
func TestDuration_Flag(t *testing.T) {
	program := &struct {
		Since   setting.Duration  `default:"1d"`
		Expires *setting.Duration `optional:""`
	}{}
	source := setting.Source{Args: []string{"--expires", "30d"}, Getenv: func(string) string { return "" }, Out: io.Discard}
	if _, err := setting.Parse(program, source); err != nil || program.Since.String() != "1d" || program.Expires.String() != "30d" {
		t.Errorf("since = %v, expires = %v, error = %v, want 1d and 30d", program.Since, program.Expires, err)
	}
}

func TestDays(t *testing.T) {
	parse := func(value string) (int, error) {
		program := &struct {
			Days setting.Days `name:"audit-days" setting:"CALLBOARD_AUDIT_DAYS" default:"90"`
		}{}
		_, err := setting.Parse(program, setting.Source{Getenv: func(string) string { return value }, Out: io.Discard})
		return program.Days.Get(), err
	}
	for value, want := range map[string]int{"": 90, "1": 1, "36500": 36500} {
		if got, err := parse(value); err != nil || got != want {
			t.Errorf("%q: days = %d, error = %v, want %d", value, got, err, want)
		}
	}
	for _, value := range []string{"0", "-1", "36501", "2000000", "99999999999999999999", "1.5", "many"} {
		_, err := parse(value)
		if err == nil || !strings.Contains(err.Error(), "CALLBOARD_AUDIT_DAYS") || !strings.Contains(err.Error(), "from 1 to 36500") {
			t.Errorf("%q: error = %v, want one with the setting and its range", value, err)
		}
	}
}
