package events

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

func text(v value) (string, string) {
	if v.kind != '"' {
		return "", "must be a string"
	}
	if strings.IndexByte(v.text, 0) >= 0 {
		return "", "must not contain NUL"
	}
	return v.text, ""
}

// name reads a string that is not empty.
func name(v value) (string, string) {
	s, problem := text(v)
	if problem == "" && s == "" {
		problem = "must not be empty"
	}
	return s, problem
}

// maxIndexed is how many characters a text can have by which rows are found. PostgreSQL's indexes refuse long ones, but only
// those that get there: an event that the next one overtakes in its batch would do, and alone would not.
const maxIndexed = 255

// indexed reads a string by which rows are found.
func indexed(read kind[string]) kind[string] {
	return func(v value) (string, string) {
		s, problem := read(v)
		if problem == "" && utf8.RuneCountInString(s) > maxIndexed {
			problem = "must have at most " + strconv.Itoa(maxIndexed) + " characters"
		}
		return s, problem
	}
}

func oneOf(allowed ...string) kind[string] {
	return func(v value) (string, string) {
		s, problem := text(v)
		if problem == "" && !slices.Contains(allowed, s) {
			problem = "must be one of " + strings.Join(allowed, ", ")
		}
		return s, problem
	}
}

func matching(shape *regexp.Regexp, problem string) kind[string] {
	return func(v value) (string, string) {
		s, wrong := text(v)
		if wrong == "" && !shape.MatchString(s) {
			wrong = problem
		}
		return s, wrong
	}
}

func boolean(v value) (bool, string) {
	if v.kind != 't' && v.kind != 'f' {
		return false, "must be true or false"
	}
	return v.kind == 't', ""
}

func integer(low, high int64) kind[int64] {
	return func(v value) (int64, string) {
		if v.kind != '0' {
			return 0, "must be an integer"
		}
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

// seconds reads a duration in whole seconds.
func seconds(v value) (int64, string) { return integer(0, math.MaxInt32)(v) }

func number(v value) (float64, string) {
	if v.kind != '0' {
		return 0, "must be a number"
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil {
		return 0, "must be a number that a 64-bit float can hold"
	}
	return f + 0, "" // -0 becomes 0: the two compare as equal, but would be stored and served as two values
}

func identifier(v value) (uuid.UUID, string) {
	if v.kind == '"' && len(v.text) == 36 {
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
