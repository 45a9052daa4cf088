package events

import (
	"errors"
	"strings"
	"time"
)

// Time is an instant in milliseconds since the Unix epoch, UTC: the precision that callboard stores and serves.
// Times compare with == and <.
type Time int64

// TimeFormat is the layout of a Time in JSON: RFC 3339, UTC, three decimals.
const TimeFormat = "2006-01-02T15:04:05.000Z"

var errNotTime = errors.New("not an RFC 3339 time in UTC, such as 2026-03-01T09:30:00.000Z")

// TimeOf truncates t to milliseconds.
func TimeOf(t time.Time) Time { return Time(t.UnixMilli()) }

// ParseTime parses an RFC 3339 time whose offset is Z or +00:00, and truncates it to milliseconds.
func ParseTime(s string) (Time, error) {
	t, ok := parseRFC3339(s)
	if ok && (strings.HasSuffix(s, "Z") || strings.HasSuffix(s, "+00:00")) {
		return TimeOf(t), nil
	}
	return 0, errNotTime
}

// parseRFC3339 parses a time with any offset and returns it in UTC. It refuses two forms that the time package
// accepts against the RFC: hours of one digit, and fractions after a comma. It also refuses the year 0 and, in UTC,
// years of five digits, because neither RFC 3339 nor PostgreSQL can represent them.
func parseRFC3339(s string) (time.Time, bool) {
	if len(s) < len("2006-01-02T15:04:05Z") || s[13] != ':' || strings.Contains(s, ",") {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	t = t.UTC()
	return t, err == nil && t.Year() >= 1 && t.Year() <= 9999
}

// Std returns the instant as a [time.Time] in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// String returns the instant in [TimeFormat].
func (t Time) String() string { return t.Std().Format(TimeFormat) }

// MarshalText implements [encoding.TextMarshaler].
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *Time) UnmarshalText(text []byte) error {
	parsed, err := ParseTime(string(text))
	*t = parsed
	return err
}

// Day returns the start of the instant's day, UTC.
func (t Time) Day() Time {
	const day = 24 * 60 * 60 * 1000
	rest := t % day
	if rest < 0 {
		rest += day
	}
	return t - rest
}
