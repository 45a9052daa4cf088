package setting

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"callboard/events/webhook"
	"callboard/readapi/access"
	"callboard/readapi/audio"
)

// parser reads the text of a setting for its flag. If the value is a secret, the error must not contain the text.
type parser func(text string, flag *kong.Value) (any, error)

// mappers are kong's options for the kinds of settings, by the tag "type". Flags of type [time.Duration] need no tag.
func (r *reader) mappers() []kong.Option {
	duration := within("duration", parseDuration)
	options := []kong.Option{kong.TypeMapper(reflect.TypeFor[time.Duration](), mapper{r, duration})}

	for name, parse := range map[string]parser{
		"address": matching(`(\[[^\]]+\]|[^:\[\]]*):[0-9]{1,5}`, "is not an address to listen on: write host:port, "+
			"or :port for all interfaces; port 0 selects a free port"),
		"base-url": matching(`https?://[^\s/?#@{}]+(/[^\s?#%{}]*)?/v1`, "is not an address that ends in /v1, "+
			"without query, fragment and braces: write https://host/v1"),
		"log-format": matching("json|console", "is not a log format: choose json or console"),
		"log-level":  matching("debug|info|warn|error", "is not a log level: choose debug, info, warn or error"),
		"stream":     matching(`[^\s.*>/\\]+`, "is not a stream name: it must not contain spaces or any of . * > / \\"),
		"subject": matching(`[^\s.*>]+(\.[^\s.*>]+)*`, "is not a subject: write words separated by dots, "+
			"without spaces, * and >"),

		"audio-url":       only(audio.ParseLocation),
		"count":           within("whole number", strconv.Atoi),
		"cursor-key":      only(NewCursorKey),
		"durations":       list[time.Duration](commas, duration),
		"file":            only(parseFile),
		"instant":         only(parseInstant),
		"memory":          within("memory size", parseSize),
		"nats-url":        only(NewNATSURL),
		"networks":        list[netip.Prefix](commas, only(access.ParseNetwork)),
		"peppers":         list[access.Pepper](commas, only(decoded(access.NewPepper))),
		"ports":           list[uint16](commas, within("port", parsePort)),
		"postgres-url":    only(NewPostgresURL),
		"postgres-urls":   list[URL](strings.Fields, only(NewPostgresURL)), // a URL with several hosts has commas
		"text":            textual,
		"webhook-kinds":   only(webhook.ParseKinds),
		"webhook-keys":    list[webhook.Key](commas, only(decoded(webhook.NewKey))),
		"webhook-secrets": list[webhook.Secret](commas, only(webhook.ParseSecret)),
	} {
		options = append(options, kong.NamedMapper(name, mapper{r, parse}))
	}

	return options
}

// only returns the parser of a kind that has no tags.
func only[T any](parse func(text string) (T, error)) parser {
	return func(text string, _ *kong.Value) (any, error) { return parse(text) }
}

// textual parses a text as the flag's type does.
func textual(text string, flag *kong.Value) (any, error) {
	target := reflect.New(flag.Target.Type())
	err := target.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	return target.Elem().Interface(), err
}

// matching returns the parser of texts that match a pattern as a whole.
func matching(pattern, detail string) parser {
	whole := regexp.MustCompile("^(?:" + pattern + ")$")
	return func(text string, _ *kong.Value) (any, error) {
		if !whole.MatchString(text) {
			return nil, errors.New(detail)
		}
		return text, nil
	}
}

// within returns the parser of values from the tag "min" to the tag "max". The error shows an example: the tag
// "example", the default or the placeholder.
func within[T cmp.Ordered](noun string, parse func(text string) (T, error)) parser {
	return func(text string, flag *kong.Value) (any, error) {
		value, err := parse(text)
		detail, inside := "is not a "+noun, err == nil

		// A flag without the tag has an empty text, which no parser accepts.
		if least, unbounded := parse(flag.Tag.Get("min")); unbounded == nil {
			detail += " from " + flag.Tag.Get("min")
			inside = inside && value >= least
		}
		if most, unbounded := parse(flag.Tag.Get("max")); unbounded == nil {
			detail += " to " + flag.Tag.Get("max")
			inside = inside && value <= most
		}

		if inside {
			return value, nil
		}

		example := cmp.Or(flag.Tag.Get("example"), flag.Tag.Default, flag.Tag.PlaceHolder)
		return nil, fmt.Errorf("%s: write for example %s", detail, example)
	}
}

// list returns the parser of elements that a function separates.
func list[T any](separate func(text string) []string, parse parser) parser {
	return func(text string, flag *kong.Value) (any, error) {
		var elements []T
		for _, part := range separate(text) {
			// The error has the element's number and not its text, which may be secret.
			element, err := parse(strings.TrimSpace(part), flag)
			if err != nil {
				return nil, fmt.Errorf("has an invalid element: number %d %w", len(elements)+1, err)
			}
			elements = append(elements, element.(T))
		}

		if len(elements) == 0 {
			return nil, errors.New("is an empty list")
		}
		return elements, nil
	}
}

func commas(text string) []string { return strings.Split(text, ",") }

// errNoSecret quotes nothing.
var errNoSecret = errors.New("is not 32 bytes or more in base64: generate one with 'openssl rand -base64 32'")

// decoded returns the parser of what create makes of a secret in base64.
func decoded[T any](create func(secret []byte) (T, error)) func(text string) (T, error) {
	return func(text string) (T, error) {
		secret, err := access.DecodeSecret(text)
		value, failed := create(secret)
		if err != nil || failed != nil {
			return value, errNoSecret
		}
		return value, nil
	}
}

// NewCursorKey decodes the secret that encrypts cursors and links to audio: 32 bytes or more in base64.
func NewCursorKey(text string) (Secret, error) {
	secret, err := access.DecodeSecret(text)
	if err != nil || len(secret) < access.MinSecret {
		return Secret{}, errNoSecret
	}
	return NewSecret(string(secret)), nil
}

func parsePort(text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	return uint16(port), err
}

// parseFile accepts the path of a readable file.
func parseFile(text string) (string, error) {
	f, err := os.Open(text)
	if err != nil {
		return "", fmt.Errorf("can't be read: %w", err)
	}
	return text, f.Close()
}

// parseSize reads a whole number of MiB, GiB or TiB, above zero.
func parseSize(text string) (int64, error) {
	for unit, shift := range map[string]int{"MiB": 20, "GiB": 30, "TiB": 40} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseUint(number, 10, 22)
			if err == nil && n > 0 {
				return int64(n) << shift, nil
			}
		}
	}
	return 0, errors.New("no size")
}

// parseDuration reads what [time.ParseDuration] reads, with days as an additional unit in front: 7d, 1d12h.
func parseDuration(text string) (time.Duration, error) {
	number, rest, found := strings.Cut(text, "d")
	if !found {
		return time.ParseDuration(text)
	}

	days, err := strconv.ParseUint(number, 10, 16) // more would overflow a date
	if err != nil {
		return 0, errors.New("no number of days")
	}
	parsed, err := time.ParseDuration(cmp.Or(rest, "0s"))
	return time.Duration(days)*24*time.Hour + parsed, err
}

// parseInstant reads RFC 3339, or a duration, which means so long ago.
func parseInstant(text string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	ago, err := parseDuration(text)
	if err != nil || ago < 0 {
		return time.Time{}, errors.New("is no instant: write 2026-03-02T09:30:00Z, or 24h for a day ago")
	}
	return time.Now().Add(-ago), nil
}
