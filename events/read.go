package events

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// object reads the members of one JSON object by name and adds what is wrong with them to problems.
// Members are usually read in the order in which they stand, so the search starts where the last one ended.
type object struct {
	members  []member
	next     int
	pointer  string
	problems *problems
}

func (o *object) find(name string) (value, bool) {
	for i := range o.members {
		at := o.next + i
		if at >= len(o.members) {
			at -= len(o.members)
		}
		if o.members[at].name == name {
			o.next = at + 1
			return o.members[at].value, true
		}
	}
	return value{}, false
}

func (o *object) problem(name, detail string) {
	o.problems.add(o.pointer+"/"+escapePointer(name), detail)
}

// kind reads one kind of value. A non-empty problem says what the value should have been.
type kind[T any] func(v value) (t T, problem string)

// required reads a member that must be there and not null.
func required[T any](o *object, name string, read kind[T]) T {
	v, found := o.find(name)
	if !found || v.kind == 'n' {
		o.problem(name, "is required")
		var zero T
		return zero
	}
	return accept(o, name, v, read)
}

// nullable reads a member that may be null or absent.
func nullable[T comparable](o *object, name string, read kind[T]) Null[T] {
	v, found := o.find(name)
	if !found || v.kind == 'n' {
		return Null[T]{}
	}
	return Some(accept(o, name, v, read))
}

func accept[T any](o *object, name string, v value, read kind[T]) T {
	t, problem := read(v)
	if problem != "" {
		o.problem(name, problem)
	}
	return t
}

// list reads an array of objects.
func list[T any](o *object, name string, read func(*object) T) []T {
	elements, pointer, ok := o.array(name)
	if !ok {
		return nil
	}
	ts := make([]T, 0, len(elements))
	for i, v := range elements {
		at := pointer + "/" + strconv.Itoa(i)
		if v.kind != '{' {
			o.problems.add(at, "must be an object")
			continue
		}
		ts = append(ts, read(&object{members: v.members, pointer: at, problems: o.problems}))
	}
	return ts
}

// values reads an array of plain values.
func values[T any](o *object, name string, read kind[T]) []T {
	elements, pointer, ok := o.array(name)
	if !ok {
		return nil
	}
	ts := make([]T, 0, len(elements))
	for i, v := range elements {
		t, problem := read(v)
		if problem != "" {
			o.problems.add(pointer+"/"+strconv.Itoa(i), problem)
		}
		ts = append(ts, t)
	}
	return ts
}

func (o *object) array(name string) (elements []value, pointer string, ok bool) {
	v, found := o.find(name)
	switch {
	case !found || v.kind == 'n':
		o.problem(name, "is required")
	case v.kind != '[':
		o.problem(name, "must be an array")
	default:
		return v.elements, o.pointer + "/" + escapePointer(name), true
	}
	return nil, "", false
}

// has tells whether a member is there and not null.
func (o *object) has(name string) bool {
	v, found := o.find(name)
	return found && v.kind != 'n'
}

// nested reads a member that is an object; nil where it is null or absent.
func nested[T any](o *object, name string, read func(*object) T) *T {
	v, found := o.find(name)
	if !found || v.kind == 'n' {
		return nil
	}
	if v.kind != '{' {
		o.problem(name, "must be an object")
		return nil
	}
	t := read(&object{members: v.members, pointer: o.pointer + "/" + escapePointer(name), problems: o.problems})
	return &t
}

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
	return f, ""
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

func escapePointer(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
