package events

import (
	"strconv"
	"strings"
)

// object reads the members of one JSON object by name and adds what is wrong with them to problems.
// Members are usually read in the order in which they stand, so the search starts where the last one ended.
type object struct {
	members  []member
	next     int
	problems *problems

	// Where the object stands; a pointer is written only where there is a problem.
	outer   *object
	name    string // the member of outer that holds it, or the array that it is an element of
	element int    // its place in the array, from 1; 0 where it is in none
}

// rootObject is the object that data is; nil, and a problem, where it is none.
func rootObject(data []byte, p *problems) *object {
	members, err := parse(data)
	switch {
	case err != nil:
		*p = append(*p, syntaxProblem(err))
		return nil
	case members[0].kind != '{':
		p.add("", "must be an object")
		return nil
	}
	return &object{members: members[1:], problems: p}
}

// inner is the object with these members that stands in o under a name; with an element, in the array of that name.
func (o *object) inner(name string, element int, members []member) object {
	return object{members: members, problems: o.problems, outer: o, name: name, element: element}
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
	o.problems.add(o.pointer()+"/"+escapePointer(name), detail)
}

func (o *object) elementProblem(name string, i int, detail string) {
	o.problems.add(o.pointer()+"/"+escapePointer(name)+"/"+strconv.Itoa(i), detail)
}

// find returns the member and what stands within it; nothing where there is none of that name.
func (o *object) find(name string) []member {
	if found := o.search(name, o.next, len(o.members)); found != nil {
		return found
	}
	return o.search(name, 0, o.next)
}

func (o *object) search(name string, from, to int) []member {
	for at := from; at < to; {
		end := at + 1 + int(o.members[at].span)
		if o.members[at].name == name {
			o.next = end
			return o.members[at:end]
		}
		at = end
	}
	return nil
}

// findValue is find for a member that counts only if it isn't null.
func (o *object) findValue(name string) []member {
	if m := o.find(name); m != nil && m[0].kind != 'n' {
		return m
	}
	return nil
}

// has tells whether a member is there and not null.
func (o *object) has(name string) bool { return o.findValue(name) != nil }

func escapePointer(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
