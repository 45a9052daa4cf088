package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rs/zerolog"

	"callboard/readapi/access"
	"callboard/readapi/limit"
	"callboard/readapi/seal"
)

// Allowance is a number of requests per minute.
type Allowance = Value[int, allowanceParser]

type allowanceParser struct{}

// Parse implements [Parser].
func (allowanceParser) Parse(text string) (int, error) {
	return parseCount(text, "whole number", limit.MaxPerMinute)
}

// parseCount parses a number from 1 to most. noun is what the error calls it.
func parseCount(text, noun string, most uint64) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 || n > most {
		return 0, fmt.Errorf("is not a %s from 1 to %d", noun, most)
	}
	return int(n), nil
}

// Connections is the size of a pool of database connections.
type Connections = Value[int, connectionsParser]

type connectionsParser struct{}

// maxConnections is above what one PostgreSQL server serves. It refuses typing errors.
const maxConnections = 1000

// Parse implements [Parser].
func (connectionsParser) Parse(text string) (int, error) {
	return parseCount(text, "number of connections", maxConnections)
}

// Switch is a setting that is on or off.
type Switch = Value[bool, switchParser]

type switchParser struct{}

// Parse implements [Parser].
func (switchParser) Parse(text string) (bool, error) {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, errors.New("is neither true nor false")
	}
	return on, nil
}

// Peppers are the secrets under which API keys are hashed, the current one first.
type Peppers = Value[[]access.Pepper, peppersParser]

type peppersParser struct{}

const generateSecret = "generate one with 'openssl rand -base64 32'"

// Parse implements [Parser].
func (peppersParser) Parse(text string) ([]access.Pepper, error) {
	return parseSecrets(text, access.ParsePepper)
}

// parseSecrets parses a list of secrets. The errors of parse are discarded.
func parseSecrets[T any](text string, parse func(text string) (T, error)) ([]T, error) {
	list, err := parseList(text, parse)
	if err != nil {
		return nil, fmt.Errorf("must be 32 bytes or more in base64, or several of these separated by commas; number %d is not: %s",
			len(list)+1, generateSecret)
	}
	return list, nil
}

// parseList parses the elements of a list that commas separate. With an error it returns the elements before the invalid one.
func parseList[T any](text string, parse func(text string) (T, error)) (list []T, err error) {
	for part := range strings.SplitSeq(text, ",") {
		element, err := parse(strings.TrimSpace(part))
		if err != nil {
			return list, err
		}
		list = append(list, element)
	}
	return list, nil
}

// CursorKey is the secret that encrypts cursors and links to audio. Its value is the decoded bytes; the setting has them in base64.
type CursorKey = Value[Secret, cursorKeyParser]

type cursorKeyParser struct{}

// NewCursorKey decodes 32 bytes or more in base64.
func NewCursorKey(text string) (Secret, error) { return cursorKeyParser{}.Parse(text) }

// Parse implements [Parser].
func (cursorKeyParser) Parse(text string) (Secret, error) {
	secret, err := access.DecodeSecret(text)
	if err != nil || len(secret) < seal.MinSecret {
		return Secret{}, errors.New("must be 32 bytes or more in base64: " + generateSecret)
	}
	return NewSecret(string(secret)), nil
}

// Address is an address to listen on.
type Address = Value[string, addressParser]

type addressParser struct{}

// Parse implements [Parser].
func (addressParser) Parse(text string) (string, error) {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", errors.New("is not an address to listen on: write host:port, or :port for all interfaces; port 0 selects a free port")
	}
	return text, nil
}

// Networks are addresses and CIDRs, separated by commas.
type Networks = Value[[]netip.Prefix, networksParser]

type networksParser struct{}

// Parse implements [Parser].
func (networksParser) Parse(text string) ([]netip.Prefix, error) {
	list, err := parseList(text, access.ParseNetwork)
	if err != nil {
		return nil, fmt.Errorf("contains an invalid network: %w", err)
	}
	return list, nil
}

// File is the path of a readable file.
type File = Value[string, fileParser]

type fileParser struct{}

// Parse implements [Parser].
func (fileParser) Parse(text string) (string, error) {
	f, err := os.Open(text)
	if err != nil {
		return "", fmt.Errorf("can't be read: %w", err)
	}
	return text, f.Close()
}

// NewFile is the path of a file that is created if it does not exist.
type NewFile = Value[string, newFileParser]

type newFileParser struct{}

// Parse implements [Parser].
func (newFileParser) Parse(text string) (string, error) {
	path, err := fileParser{}.Parse(text)
	if errors.Is(err, fs.ErrNotExist) {
		return text, nil
	}
	return path, err
}

// StreamName is the name of a JetStream stream.
type StreamName = Value[string, streamNameParser]

type streamNameParser struct{}

// Parse implements [Parser].
func (streamNameParser) Parse(text string) (string, error) {
	if strings.ContainsAny(text, " \t\r\n.*>/\\") {
		return "", errors.New("is not a stream name: it must not contain spaces or any of . * > / \\")
	}
	return text, nil
}

// Subject is a NATS subject without wildcards.
type Subject = Value[string, subjectParser]

type subjectParser struct{}

// Parse implements [Parser].
func (subjectParser) Parse(text string) (string, error) {
	if strings.ContainsAny(text, " \t\r\n*>") || slices.Contains(strings.Split(text, "."), "") {
		return "", errors.New("is not a subject: write words separated by dots, without spaces, * and >")
	}
	return text, nil
}

// Partitions is the share of a projector; nil means all partitions of the stream.
type Partitions = Value[[]int, partitionsParser]

type partitionsParser struct{}

// partitionBits are enough for the partition numbers of any stream. More would let typing errors need much memory.
const partitionBits = 15

// Parse implements [Parser].
func (partitionsParser) Parse(text string) ([]int, error) {
	var list []int
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
			list = append(list, int(p))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// LogLevel is the lowest level that is logged.
type LogLevel = Value[zerolog.Level, logLevelParser]

type logLevelParser struct{}

// Parse implements [Parser].
func (logLevelParser) Parse(text string) (zerolog.Level, error) {
	for _, level := range []zerolog.Level{zerolog.DebugLevel, zerolog.InfoLevel, zerolog.WarnLevel, zerolog.ErrorLevel} {
		if text == level.String() {
			return level, nil
		}
	}
	return zerolog.NoLevel, errors.New("is not a log level: choose debug, info, warn or error")
}

// LogFormat is the format of the log.
type LogFormat = Value[Format, logFormatParser]

// Format is the name of a log format.
type Format string

// The formats.
const (
	JSON    Format = "json"
	Console Format = "console"
)

type logFormatParser struct{}

// Parse implements [Parser].
func (logFormatParser) Parse(text string) (Format, error) {
	if format := Format(text); format == JSON || format == Console {
		return format, nil
	}
	return "", errors.New("is not a log format: choose json or console")
}
