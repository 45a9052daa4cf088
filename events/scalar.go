package events

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// storable parses a string of any length that PostgreSQL can store.
func storable(v value) (string, string) { return limited(v, math.MaxInt) }

func text(v value) (string, string) { return limited(v, maxText) }

func routeSummary(v value) (string, string) { return limited(v, maxRouteSummary) }

// limited parses a string with a limit in bytes.
func limited(v value, limit int) (string, string) {
	switch {
	case v.kind != '"':
		return "", "must be a string"
	case len(v.text) > limit:
		return "", atMost(limit, "bytes")
	case strings.IndexByte(v.text, 0) >= 0:
		return "", "must not contain NUL"
	}
	return v.text, ""
}

func atMost(limit int, unit string) string {
	return "must have at most " + strconv.Itoa(limit) + " " + unit
}

// name parses a string that is not empty.
func name(v value) (string, string) {
	s, problem := text(v)
	if problem == "" && s == "" {
		problem = "must not be empty"
	}
	return s, problem
}

func callSid(v value) (string, string) {
	s, problem := name(v)
	if problem == "" && len(s) > maxCallSid && utf8.RuneCountInString(s) > maxCallSid {
		problem = atMost(maxCallSid, "characters")
	}
	return s, problem
}

// objectName parses the name of an entry of the object store.
func objectName(v value) (string, string) { return printable(v, maxObjectName) }

// audioKey parses the key of an object in a bucket or below a folder.
func audioKey(v value) (string, string) {
	s, problem := printable(v, maxAudioKey)
	if problem == "" && (s[0] == '/' || strings.Contains(s, "..") && slices.Contains(strings.Split(s, "/"), "..")) {
		problem = "must not begin with / and must have no .. between slashes"
	}
	return s, problem
}

// printable parses a string that is not empty, has no control characters, and has a limit in bytes.
func printable(v value, limit int) (string, string) {
	s, problem := limited(v, limit)
	switch {
	case problem != "":
	case s == "":
		problem = "must not be empty"
	case strings.ContainsFunc(s, unicode.IsControl):
		problem = "must have no control characters"
	}
	return s, problem
}

func oneOf(allowed ...string) scalar[string] {
	return func(v value) (string, string) {
		s, problem := text(v)
		if problem == "" && !slices.Contains(allowed, s) {
			problem = "must be one of " + strings.Join(allowed, ", ")
		}
		return s, problem
	}
}

func matching(shape func(string) bool, problem string) scalar[string] {
	return func(v value) (string, string) {
		s, wrong := text(v)
		if wrong == "" && !shape(s) {
			wrong = problem
		}
		return s, wrong
	}
}

// consists reports whether s has from low to high bytes, all of a kind.
func consists(s string, low, high int, kind func(byte) bool) bool {
	for i := range len(s) {
		if !kind(s[i]) {
			return false
		}
	}
	return low <= len(s) && len(s) <= high
}

func isDigit(c byte) bool   { return '0' <= c && c <= '9' }
func isCapital(c byte) bool { return 'A' <= c && c <= 'Z' }

// isURLSafe reports whether c is a character of URL-safe base64.
func isURLSafe(c byte) bool {
	return isDigit(c) || isCapital(c) || 'a' <= c && c <= 'z' || c == '-' || c == '_'
}

func boolean(v value) (bool, string) {
	if v.kind != 't' && v.kind != 'f' {
		return false, "must be true or false"
	}
	return v.kind == 't', ""
}

func integer(low, high int64) scalar[int64] {
	return func(v value) (int64, string) {
		if v.kind != '0' {
			return 0, "must be an integer"
		}

		// A fraction, an exponent or more than 64 bits are no integer here.
		n, err := strconv.ParseInt(v.text, 10, 64)
		if err != nil {
			return 0, "must be an integer"
		}

		if n < low || n > high {
			return 0, "must be from " + strconv.FormatInt(low, 10) + " to " + strconv.FormatInt(high, 10)
		}
		return n, ""
	}
}

func version(v value) (int64, string) { return integer(1, math.MaxInt64)(v) }

func number(v value) (float64, string) {
	if v.kind != '0' {
		return 0, "must be a number"
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil {
		return 0, "must be a number that a 64-bit float can hold"
	}
	return f + 0, "" // turns -0 into 0: they compare as equal, but are stored and served as different values
}

// uuidLength is the length of a UUID's usual form. There are others that uuid.Parse accepts.
const uuidLength = 36

func identifier(v value) (uuid.UUID, string) {
	if v.kind == '"' && len(v.text) == uuidLength {
		if id, err := uuid.Parse(v.text); err == nil {
			return id, ""
		}
	}
	return uuid.Nil, "must be a UUID"
}

func instant(v value) (Time, string) {
	if v.kind == '"' {
		if t, err := ParseTime(v.text); err == nil {
			return t, ""
		}
	}
	return 0, "must be " + strings.TrimPrefix(errNotTime.Error(), "not ")
}
