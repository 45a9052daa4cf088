package events

// kind reads one kind of value. A non-empty problem says what the value should have been.
type kind[T any] func(v value) (t T, problem string)

// required reads a member that must be there and not null.
func required[T any](o *object, name string, read kind[T]) T {
	m := o.findValue(name)
	if m == nil {
		o.problem(name, "is required")
		var zero T
		return zero
	}
	return accept(o, name, m[0].value, read)
}

// nullable reads a member that may be null or absent.
func nullable[T comparable](o *object, name string, read kind[T]) Null[T] {
	m := o.findValue(name)
	if m == nil {
		return Null[T]{}
	}
	return Some(accept(o, name, m[0].value, read))
}

func accept[T any](o *object, name string, v value, read kind[T]) T {
	t, problem := read(v)
	if problem != "" {
		o.problem(name, problem)
	}
	return t
}

// nested reads a member that is an object; nil where it is null or absent.
func nested[T any](o *object, name string, read func(*object) T) *T {
	m := o.findValue(name)
	if m == nil {
		return nil
	}
	if m[0].kind != '{' {
		o.problem(name, "must be an object")
		return nil
	}
	inner := o.inner(name, 0, m[1:])
	t := read(&inner)
	return &t
}

// requiredNested reads a member that must be an object.
func requiredNested[T any](o *object, name string, read func(*object) T) T {
	if !o.has(name) {
		o.problem(name, "is required")
	} else if t := nested(o, name, read); t != nil {
		return *t
	}
	var zero T
	return zero
}

// list reads an array of objects.
func list[T any](o *object, name string, read func(*object) T) []T {
	elements, ok := o.array(name)
	if !ok {
		return nil
	}
	ts := []T{}
	var inner object
	for i, element := range each(elements) {
		if element[0].kind != '{' {
			o.elementProblem(name, i, "must be an object")
			continue
		}
		inner = o.inner(name, i+1, element[1:])
		ts = append(ts, read(&inner))
	}
	return ts
}

// values reads an array of plain values.
func values[T any](o *object, name string, read kind[T]) []T {
	elements, ok := o.array(name)
	if !ok {
		return nil
	}
	ts := make([]T, 0, len(elements))
	for i, element := range each(elements) {
		t, problem := read(element[0].value)
		if problem != "" {
			o.elementProblem(name, i, problem)
		}
		ts = append(ts, t)
	}
	return ts
}

func (o *object) array(name string) (elements []member, ok bool) {
	m := o.findValue(name)
	switch {
	case m == nil:
		o.problem(name, "is required")
	case m[0].kind != '[':
		o.problem(name, "must be an array")
	default:
		return m[1:], true
	}
	return nil, false
}
