package readapi

import (
	"slices"
	"strconv"
	"strings"

	"callboard/readapi/query"
)

// filter is a parameter that a list's rows are filtered by, exactly.
type filter struct {
	name   string
	column query.Column
	read   func(p *parameters, name string) string // the column's value; empty: not given, or refused
}

// filter reads a list's filters. What is refused is among the parameters' problems.
func (q *request) filter(g page, w query.Window, filters []filter) query.Filter {
	f := query.Filter{System: q.system, Window: w, Own: q.own, Offset: g.offset(), Limit: g.size}
	for _, given := range filters {
		if value := given.read(q.parameters, given.name); value != "" {
			f.Exact = append(f.Exact, query.Exact{Column: given.column, Value: value})
		}
	}
	return f
}

// The longest that a filter's text may be, in characters.
const (
	textLimit    = 255
	callSidLimit = 64
)

func (p *parameters) free(name string) string { return p.short(name, textLimit) }

func (p *parameters) callSid(name string) string { return p.short(name, callSidLimit) }

// phoneNumber is a number as it is stored, from the + on, which is a space where a URL has it unescaped.
func (p *parameters) phoneNumber(name string) string {
	value := p.short(name, textLimit)
	if strings.HasPrefix(value, " ") {
		p.refuse(name, invalidFormat, "The value begins with a space; a + in a URL is written %2B.")
		return ""
	}
	return value
}

func (p *parameters) identifier(name string) string {
	value, ok := p.text(name)
	if !ok {
		return ""
	}
	id, ok := parseUUID(value)
	if !ok {
		p.refuse(name, invalidFormat, "The identifier is malformed.")
		return ""
	}
	return id.String()
}

// agentNumber is a whole number from 1 to 9.
func (p *parameters) agentNumber(name string) string {
	if n := p.integer(name, 0, 9); n != 0 {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

// oneOf reads one of these values.
func oneOf(values ...string) func(*parameters, string) string {
	return func(p *parameters, name string) string {
		value, ok := p.text(name)
		if ok && !slices.Contains(values, value) {
			p.refuse(name, notAllowed, "The value is none of "+strings.Join(values, ", ")+".")
			return ""
		}
		return value
	}
}
