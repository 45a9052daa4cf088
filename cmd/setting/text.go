package setting

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
)

// File is the path of a file that can be read.
type File = Value[string, file]

type file struct{}

// Parse implements [Kind].
func (file) Parse(text string) (string, error) {
	f, err := os.Open(text)
	if err != nil {
		return "", fmt.Errorf("can't be read: %w", err)
	}
	return text, f.Close()
}

// StreamName is the name of a JetStream stream.
type StreamName = Value[string, streamName]

type streamName struct{}

// Parse implements [Kind].
func (streamName) Parse(text string) (string, error) {
	if strings.ContainsAny(text, " \t\r\n.*>/\\") {
		return "", errors.New("is not the name of a stream: it has neither spaces nor any of . * > / \\")
	}
	return text, nil
}

// Partitions are a projector's share; nil stands for all of the stream's.
type Partitions = Value[[]int, partitions]

type partitions struct{}

// maxPartition is above every partition that a stream is made with, and keeps a slip of the hand from filling the memory.
const maxPartition = 1 << 15

// Parse implements [Kind].
func (partitions) Parse(text string) ([]int, error) {
	var list []int
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(strings.TrimSpace(part), "-")
		first, err1 := strconv.ParseUint(low, 10, 15)
		last := first
		var err2 error
		if ranged {
			last, err2 = strconv.ParseUint(high, 10, 15)
		}
		if err1 != nil || err2 != nil || last < first || last >= maxPartition {
			return nil, errors.New("is not a list of partitions: write 0-7,12 for example")
		}
		for p := first; p <= last; p++ {
			list = append(list, int(p))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// LogLevel is the least level that is logged.
type LogLevel = Value[zerolog.Level, logLevel]

type logLevel struct{}

// Parse implements [Kind].
func (logLevel) Parse(text string) (zerolog.Level, error) {
	for _, level := range []zerolog.Level{zerolog.DebugLevel, zerolog.InfoLevel, zerolog.WarnLevel, zerolog.ErrorLevel} {
		if text == level.String() {
			return level, nil
		}
	}
	return zerolog.NoLevel, errors.New("is not a log level: choose debug, info, warn or error")
}

// LogFormat is what a log looks like.
type LogFormat = Value[Format, logFormat]

// Format is the name of a log's format.
type Format string

// The formats.
const (
	JSON    Format = "json"
	Console Format = "console"
)

type logFormat struct{}

// Parse implements [Kind].
func (logFormat) Parse(text string) (Format, error) {
	if format := Format(text); format == JSON || format == Console {
		return format, nil
	}
	return "", errors.New("is not a log format: choose json or console")
}
