package setting

import (
	"errors"
	"strconv"
	"strings"
)

// parseSize reads a whole number of MiB, GiB or TiB.
func parseSize(text string) (int64, bool) {
	for unit, shift := range map[string]int{"MiB": 20, "GiB": 30, "TiB": 40} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseUint(number, 10, 22)
			return int64(n) << shift, err == nil && n > 0
		}
	}
	return 0, false
}

// Memory is a setting: a number of bytes.
type Memory = Value[int64, memoryParser]

type memoryParser struct{}

// Parse implements [Parser].
func (memoryParser) Parse(text string) (int64, error) {
	n, ok := parseSize(text)
	if !ok {
		return 0, errors.New("is not a memory size: write for example 64MiB")
	}
	return n, nil
}

// BodyMemory is a setting: a number of bytes for responses.
type BodyMemory = Value[int64, bodyMemoryParser]

type bodyMemoryParser struct{}

// minBodyMemory is what the largest response of a reader takes. A reader with less does not start.
const minBodyMemory = 14 << 20

// Parse implements [Parser].
func (bodyMemoryParser) Parse(text string) (int64, error) {
	n, ok := parseSize(text)
	if !ok || n < minBodyMemory {
		return 0, errors.New("is not a memory size of 14MiB or more: write for example 192MiB")
	}
	return n, nil
}
