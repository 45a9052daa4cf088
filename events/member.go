package events

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// Decode reads the members of an object by the fields of a Go type:
//
//   - The tag json names the member.
//   - A [Null] or a pointer can be null or absent. A list must be there, and so must everything else.
//   - The tag is names the rule for a value, where its type alone doesn't say it: the values of a text, separated by |, the
//     bounds of an integer, separated by .., or a name of texts, integers and identifiers, below. A member with - is read by the
//     type's check.
//   - A type that is checked looks at several members together.

// checked is a type with a rule about several members, which adds its problems to the object.
type checked interface{ check(o *object) }

// plan is how the members of a type are read, in the order of its fields.
type plan []plannedMember

// plannedMember is a member and the field into which it is read.
type plannedMember struct {
	name  string
	field int // its index
	read  memberReader
}

// memberReader reads a member of an object into a field, to which it gets a pointer.
type memberReader func(o *object, name string, to any)

//nolint:gochecknoglobals // a plan is made once
var plans sync.Map // of plan, by type

// planOf returns the plan of a struct.
func planOf(t reflect.Type) plan {
	if known, ok := plans.Load(t); ok {
		return known.(plan)
	}

	p := make(plan, 0, t.NumField())
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if rule := field.Tag.Get("is"); rule != "-" {
			p = append(p, plannedMember{name, field.Index[0], newMemberReader(field.Type, rule)})
		}
	}

	// Two goroutines can make the plan of one type. Both plans are the same.
	plans.Store(t, p)
	return p
}

// read reads an object into a struct.
func (p plan) read(o *object, to reflect.Value) {
	for _, m := range p {
		m.read(o, m.name, to.Field(m.field).Addr().Interface())
	}
	if c, ok := to.Addr().Interface().(checked); ok {
		c.check(o)
	}
}

// newMemberReader returns the reader of fields of a type.
func newMemberReader(t reflect.Type, rule string) memberReader {
	// Each reader of scalars serves one Go type, and is nil for a field of another type.
	for _, scalars := range []memberReader{
		scalarReader(t, textOf(rule)),
		scalarReader(t, integerOf(rule)),
		scalarReader(t, identifierOf(rule)),

		scalarReader(t, number),
		scalarReader(t, boolean),
		scalarReader(t, instant),
	} {
		if scalars != nil {
			return scalars
		}
	}

	// Every other field is a list, an object that can be null, or an object.
	switch t.Kind() {
	case reflect.Slice:
		elements := planOf(t.Elem())
		return func(o *object, name string, to any) { elements.readList(o, name, reflect.ValueOf(to).Elem()) }

	case reflect.Pointer:
		members := planOf(t.Elem())
		return func(o *object, name string, to any) {
			if o.has(name) {
				members.readNested(o, name, reflect.ValueOf(to).Elem())
			}
		}

	default:
		members := planOf(t)
		return func(o *object, name string, to any) {
			if inner := o.requiredObject(name); inner != nil {
				members.read(inner, reflect.ValueOf(to).Elem())
			}
		}
	}
}

// scalarReader returns the reader of fields of the type t, if that is T, Null[T] or []T; else nil.
func scalarReader[T comparable](t reflect.Type, read scalar[T]) memberReader {
	switch t {
	case reflect.TypeFor[T]():
		return func(o *object, name string, to any) { *to.(*T) = required(o, name, read) }
	case reflect.TypeFor[Null[T]]():
		return func(o *object, name string, to any) { *to.(*Null[T]) = nullable(o, name, read) }
	case reflect.TypeFor[[]T]():
		return func(o *object, name string, to any) { *to.(*[]T) = values(o, name, maxElementsOf(name), read) }
	}
	return nil
}

// readNested reads a member that is an object into a pointer, which stays nil if it is something else.
func (p plan) readNested(o *object, name string, to reflect.Value) {
	if inner := o.requiredObject(name); inner != nil {
		to.Set(reflect.New(to.Type().Elem()))
		p.read(inner, to.Elem())
	}
}

// readList reads a member that is an array of objects into a slice. Elements that are something else are left out.
func (p plan) readList(o *object, name string, to reflect.Value) {
	elements, n, ok := o.array(name, maxElementsOf(name))
	if !ok {
		return
	}

	list, objects := reflect.MakeSlice(to.Type(), n, n), 0
	for i, element := range each(elements) {
		if element[0].kind != '{' {
			o.elementProblem(name, i, "must be an object")
			continue
		}

		// An object takes the place of an element that was left out before it.
		p.read(o.inner(name, i+1, element[1:]), list.Index(objects))
		objects++
	}

	to.Set(list.Slice(0, objects))
}

// maxElementsOf returns how many elements a list may have.
func maxElementsOf(name string) int {
	switch name {
	case "tags":
		return maxTags
	case "coachingTips":
		return maxTips
	case "turns":
		return maxTurns
	}
	return maxElements
}

// textOf returns the rule of a text.
func textOf(rule string) scalar[string] {
	if strings.Contains(rule, "|") {
		return oneOf(strings.Split(rule, "|")...)
	}

	texts := map[string]scalar[string]{
		"":             text,
		"name":         name,
		"any text":     storable,
		"callSid":      callSid,
		"recordingSid": recordingSid,
		"routeSummary": routeSummary,
		"bucket":       oneOf(TranscriptBucket),
		"objectName":   objectName,
		"audioKey":     audioKey,
		"digest":       matching(isDigest, "must be SHA-256= and the digest in URL-safe base64"),
		"decimal":      matching(isDecimal, `must be a decimal number in a string, such as "149.90"`),
		"e164":         matching(isE164, "must be an E.164 number, such as +14155550123"),
		"country":      matching(isCountry, "must be two capital letters (ISO 3166-1 alpha-2)"),
		"code kind":    classificationKind,
		"reference":    oneOf(fetchableTypes()...),
		"action":       oneOf(append(fetchableTypes(), literalTypes()...)...),
	}

	return texts[rule]
}

// integerOf returns the rule of an integer.
func integerOf(rule string) scalar[int64] {
	if low, high, ok := strings.Cut(rule, ".."); ok {
		from, _ := strconv.ParseInt(low, 10, 64)
		to, _ := strconv.ParseInt(high, 10, 64)
		return integer(from, to)
	}

	switch rule {
	case "seconds":
		return integer(0, math.MaxInt32)
	case "int32":
		return integer(math.MinInt32, math.MaxInt32)
	case "bytes":
		return integer(0, math.MaxInt64)
	case "body bytes":
		return integer(0, MaxBodyBytes)
	}

	// An integer without a rule is a version.
	return version
}

// identifierOf returns the rule of an identifier.
func identifierOf(rule string) scalar[uuid.UUID] {
	if rule == "not nil" {
		return systemOrGlobal
	}
	return identifier
}
