package events

import (
	"strconv"
	"strings"
)

// object reads the members of one JSON object by name and adds their problems. Callers mostly read members in the
// order of the message, so a search starts after the last member found.
type object struct {
	members  []member
	next     int
	problems *problems

	// The position of the object. Its JSON pointer is written only if there is a problem.
	outer   *object
	name    string // the member of outer that holds the object, or the array of which it is an element
	element int    // the index in that array plus 1, or 0
}

// inner returns the object with these members in the member called name of o. element is its index plus 1 if that
// is an array.
func (o *object) inner(name string, element int, members []member) *object {
	return &object{members: members, problems: o.problems, outer: o, name: name, element: element}
}

func (o *object) pointer() string {
	if o.outer == nil {
		return ""
	}
	pointer := o.outer.pointer() + "/" + escapePointer(o.name)
	if o.element > 0 {
		pointer += "/" + strconv.Itoa(o.element-1)
	}
	return pointer
}

func (o *object) problem(name, detail string) {
	if !o.problems.full() {
		o.problems.add(o.pointer()+"/"+escapePointer(name), detail)
	}
}

func (o *object) elementProblem(name string, i int, detail string) {
	if !o.problems.full() {
		o.problems.add(o.pointer()+"/"+escapePointer(name)+"/"+strconv.Itoa(i), detail)
	}
}

// find returns a member and the members within it, or nil.
func (o *object) find(name string) []member {
	at := indexOf(o.members[o.next:], name)
	if at >= 0 {
		at += o.next
	} else if at = indexOf(o.members[:o.next], name); at < 0 {
		return nil
	}
	o.next = at + 1 + int(o.members[at].span)
	return o.members[at:o.next]
}

// findValue returns a member that is not null and the members within it, or nil.
func (o *object) findValue(name string) []member {
	if m := o.find(name); m != nil && m[0].kind != 'n' {
		return m
	}
	return nil
}

// has reports whether a member is present and not null.
func (o *object) has(name string) bool { return o.findValue(name) != nil }

func escapePointer(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// scalar parses a value that is no object or array. problem, if not empty, says what the value must be.
type scalar[T any] func(v value) (t T, problem string)

// required reads a member that must be present and not null.
func required[T any](o *object, name string, read scalar[T]) T {
	m := o.findValue(name)
	if m == nil {
		o.problem(name, "is required")
		var zero T
		return zero
	}
	return parseScalar(o, name, m[0].value, read)
}

// nullable reads a member that may be null or absent.
func nullable[T comparable](o *object, name string, read scalar[T]) Null[T] {
	m := o.findValue(name)
	if m == nil {
		return Null[T]{}
	}
	return Some(parseScalar(o, name, m[0].value, read))
}

func parseScalar[T any](o *object, name string, v value, read scalar[T]) T {
	t, problem := read(v)
	if problem != "" {
		o.problem(name, problem)
	}
	return t
}

// requiredObject returns the object in a member that must be one, or nil if it is none.
func (o *object) requiredObject(name string) *object {
	m := o.findValue(name)
	switch {
	case m == nil:
		o.problem(name, "is required")
		return nil
	case m[0].kind != '{':
		o.problem(name, "must be an object")
		return nil
	}
	return o.inner(name, 0, m[1:])
}

// values reads an array of at most limit scalars.
func values[T any](o *object, name string, limit int, read scalar[T]) []T {
	elements, n, ok := o.array(name, limit)
	if !ok {
		return nil
	}

	ts := make([]T, 0, n)
	for i, element := range each(elements) {
		t, problem := read(element[0].value)
		if problem != "" {
			o.elementProblem(name, i, problem)
		}
		ts = append(ts, t)
	}

	return ts
}

// array returns the elements of an array and how many there are.
func (o *object) array(name string, limit int) (elements []member, n int, ok bool) {
	m := o.findValue(name)
	switch {
	case m == nil:
		o.problem(name, "is required")
		return nil, 0, false
	case m[0].kind != '[':
		o.problem(name, "must be an array")
		return nil, 0, false
	}

	if n = count(m[1:]); n > limit {
		o.problem(name, atMost(limit, "elements"))
		return nil, 0, false
	}

	return m[1:], n, true
}
