package setting

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"callboard/events/webhook"
	"callboard/readapi/access"
	"callboard/readapi/audio"
)

// parser reads the text of a setting, with the tags of its flag. If the value is a secret, the error must not contain
// the text.
type parser func(text string, tag *kong.Tag) (any, error)

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
		"durations":       list[time.Duration](duration),
		"file":            only(parseFile),
		"instant":         only(parseInstant),
		"memory":          within("memory size", parseSize),
		"nats-url":        only(NewNATSURL),
		"networks":        list[netip.Prefix](only(access.ParseNetwork)),
		"partitions":      only(parsePartitions),
		"peppers":         list[access.Pepper](only(decoded(access.NewPepper))),
		"ports":           list[uint16](within("port", parsePort)),
		"postgres-url":    only(NewPostgresURL),
		"postgres-urls":   listOf[URL](strings.Fields, only(NewPostgresURL)), // a URL with several hosts has commas
		"webhook-kinds":   only(webhook.ParseKinds),
		"webhook-keys":    list[webhook.Key](only(decoded(webhook.NewKey))),
		"webhook-secrets": list[webhook.Secret](only(webhook.ParseSecret)),
	} {
		options = append(options, kong.NamedMapper(name, mapper{r, parse}))
	}
	return options
}

// only returns the parser of a kind that has no tags.
func only[T any](parse func(text string) (T, error)) parser {
	return func(text string, _ *kong.Tag) (any, error) { return parse(text) }
}

// matching returns the parser of texts that match a pattern as a whole.
func matching(pattern, detail string) parser {
	whole := regexp.MustCompile("^(?:" + pattern + ")$")
	return func(text string, _ *kong.Tag) (any, error) {
		if !whole.MatchString(text) {
			return nil, errors.New(detail)
		}
		return text, nil
	}
}

// within returns the parser of values from the tag "min" to the tag "max". The error shows an example: the tag
// "example", the default or the placeholder.
func within[T cmp.Ordered](noun string, parse func(text string) (T, error)) parser {
	return func(text string, tag *kong.Tag) (any, error) {
		value, err := parse(text)
		least, leastErr := parse(tag.Get("min"))
		most, mostErr := parse(tag.Get("max"))
		hasLeast, hasMost := leastErr == nil, mostErr == nil
		outside := hasLeast && value < least || hasMost && value > most
		if err == nil && !outside {
			return value, nil
		}

		detail := "is not a " + noun
		if hasLeast {
			detail += " from " + tag.Get("min")
		}
		if hasMost {
			detail += " to " + tag.Get("max")
		}
		return nil, fmt.Errorf("%s: write for example %s", detail, cmp.Or(tag.Get("example"), tag.Default, tag.PlaceHolder))
	}
}

// list returns the parser of elements that commas separate.
func list[T any](parse parser) parser {
	return listOf[T](func(text string) []string { return strings.Split(text, ",") }, parse)
}

// listOf returns the parser of elements that a function separates.
func listOf[T any](separate func(text string) []string, parse parser) parser {
	return func(text string, tag *kong.Tag) (any, error) {
		var elements []T
		for _, part := range separate(text) {
			element, err := parse(strings.TrimSpace(part), tag)
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

// partitionBits are enough for the partition numbers of any stream. More would let typing errors need much memory.
const partitionBits = 15

// parsePartitions reads numbers and ranges, and returns the numbers in ascending order.
func parsePartitions(text string) ([]int, error) {
	var numbers []int
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			high = low
		}
		first, err1 := strconv.ParseUint(low, 10, partitionBits)
		last, err2 := strconv.ParseUint(high, 10, partitionBits)
		if err1 != nil || err2 != nil || last < first {
			return nil, errors.New("is not a list of partitions: write for example 0-7,12")
		}
		for p := first; p <= last; p++ {
			numbers = append(numbers, int(p))
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
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
