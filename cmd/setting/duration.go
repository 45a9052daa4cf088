package setting

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a flag's length of time. Its text is that of [time.ParseDuration], with days as an additional unit in front: 7d, 1d12h.
// It can be used wherever kong accepts a text, and prints as such a text.
type Duration time.Duration

const day = 24 * time.Hour

// maxDays is about a century. It refuses typing errors that would overflow a date.
const maxDays = 36500

// UnmarshalText reads the text.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, ok := parseDuration(string(text))
	if !ok {
		return fmt.Errorf("%q is not a duration: write 90m, 24h or 7d", text)
	}
	*d = Duration(parsed)
	return nil
}

func parseDuration(text string) (time.Duration, bool) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		parsed, err := time.ParseDuration(text)
		return parsed, err == nil
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, false
	}
	total := time.Duration(n) * day
	if rest == "" {
		return total, total <= maxDays*day
	}
	parsed, err := time.ParseDuration(rest)
	return total + parsed, err == nil && parsed >= 0 && parsed < day && total <= maxDays*day
}

// String is a text that UnmarshalText reads, without units that are zero.
func (d Duration) String() string {
	days, rest := time.Duration(d)/day, time.Duration(d)%day
	text := rest.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	switch {
	case days <= 0:
		return text
	case rest == 0:
		return fmt.Sprintf("%dd", days)
	}
	return fmt.Sprintf("%dd%s", days, text)
}

// Drain is a setting: how long a program answers after it was asked to stop.
type Drain = Value[time.Duration, drainParser]

type drainParser struct{}

// maxDrain is above what platforms grant a program that they stop.
const maxDrain = 10 * time.Minute

// Parse implements [Parser].
func (drainParser) Parse(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxDrain {
		return 0, errors.New("is not a duration from 0s to 10m: write for example 10s")
	}
	return d, nil
}

// MaxAge is a setting: how old something may be. Zero means any age.
type MaxAge = Value[time.Duration, maxAgeParser]

type maxAgeParser struct{}

// Parse implements [Parser].
func (maxAgeParser) Parse(text string) (time.Duration, error) {
	d, ok := parseDuration(text)
	if !ok || d < 0 || d > 0 && d < time.Second {
		return 0, errors.New("is not a duration of 1s or more, nor 0 for any age: write for example 1h")
	}
	return d, nil
}

// ClockInterval is a setting: how far apart clock messages are.
type ClockInterval = Value[time.Duration, clockIntervalParser]

type clockIntervalParser struct{}

// Parse implements [Parser].
func (clockIntervalParser) Parse(text string) (time.Duration, error) {
	d, ok := parseDuration(text)
	if !ok || d < 250*time.Millisecond || d > time.Minute {
		return 0, errors.New("is not a duration from 250ms to 60s: write for example 1s")
	}
	return d, nil
}

// Days is a setting: for how many days something is stored.
type Days = Value[int, daysParser]

type daysParser struct{}

// Parse implements [Parser].
func (daysParser) Parse(text string) (int, error) {
	return parseCount(text, "number of days", maxDays)
}
