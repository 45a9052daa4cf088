package readapi

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parameters are a request's query, read strictly. An operation asks for those it knows, in the contract's order; what it did
// not ask for is unknown. Problems are collected, and reported together by problem.
type parameters struct {
	given    []parameter
	places   map[string]int // in given
	problems []fieldProblem
}

type parameter struct {
	name, value string
	malformed   bool
	times       int
	known       bool
}

// parseParameters splits a query string. A bad escape or a semicolon, which some servers take for a separator, makes the
// parameter malformed.
func parseParameters(query string) *parameters {
	p := &parameters{places: make(map[string]int)}
	for pair := range strings.SplitSeq(query, "&") {
		if pair != "" {
			p.add(pair)
		}
	}
	return p
}

func (p *parameters) add(pair string) {
	rawName, rawValue, _ := strings.Cut(pair, "=")
	name, err := url.QueryUnescape(rawName)
	if err != nil || strings.Contains(rawName, ";") {
		p.problems = append(p.problems, fieldProblem{"", invalidFormat, "The query string is malformed."})
		return
	}
	if i, ok := p.places[name]; ok {
		p.given[i].times++
		return
	}
	p.places[name] = len(p.given)
	value, err := url.QueryUnescape(rawValue)
	malformed := err != nil || strings.Contains(rawValue, ";") || !utf8.ValidString(value) || strings.ContainsRune(value, 0)
	p.given = append(p.given, parameter{name: name, value: value, malformed: malformed, times: 1})
}

// text is a parameter's value as given, if it is there once and has one.
func (p *parameters) text(name string) (string, bool) {
	i, ok := p.places[name]
	if !ok {
		return "", false
	}
	g := &p.given[i]
	g.known = true
	switch {
	case g.times > 1:
		p.refuse(name, repeated, "The parameter is given more than once.")
	case g.malformed:
		p.refuse(name, invalidFormat, "The value is malformed.")
	case g.value == "":
		p.refuse(name, invalidFormat, "The value is empty.")
	default:
		return g.value, true
	}
	return "", false
}

// short is a text of at most limit characters.
func (p *parameters) short(name string, limit int) string {
	value, ok := p.text(name)
	if ok && utf8.RuneCountInString(value) > limit {
		p.refuse(name, tooLong, "The value has more than "+strconv.Itoa(limit)+" characters.")
		return ""
	}
	return value
}

// integer is a number of plain decimal digits, from 1 on.
func (p *parameters) integer(name string, fallback, most int64) int64 {
	value, ok := p.text(name)
	if !ok {
		return fallback
	}
	digits, negative := strings.CutPrefix(value, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		p.refuse(name, invalidFormat, "The value is not a whole number.")
		return fallback
	}
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil && negative:
		p.refuse(name, tooSmall, "The value is below 1.")
	case err != nil || n > most:
		p.refuse(name, tooLarge, "The value is above "+strconv.FormatInt(most, 10)+".")
	case n < 1:
		p.refuse(name, tooSmall, "The value is below 1.")
	default:
		return n
	}
	return fallback
}

func (p *parameters) refuse(name string, code fieldCode, detail string) {
	p.problems = append(p.problems, fieldProblem{pointer(name), code, detail})
}

// problem is all that is wrong with the query, once the operation has asked for every parameter it knows.
func (p *parameters) problem() error {
	for _, g := range p.given {
		if !g.known {
			p.refuse(g.name, unknownParameter, "The operation has no such parameter.")
		}
	}
	if len(p.problems) > 0 {
		return &problem{code: validationFailed, errors: p.problems}
	}
	return nil
}

// page is which part of a list is asked for.
type page struct {
	number, size int64
}

const (
	defaultPageSize = 25
	maxPageSize     = 100
)

// page reads the parameters of every list.
func (p *parameters) page() page {
	return page{
		number: p.integer("page", 1, math.MaxInt64),
		size:   p.integer("pageSize", defaultPageSize, maxPageSize),
	}
}

// offset is the number of rows before the page, and the largest number where that is larger still.
func (g page) offset() int64 {
	if g.number-1 > math.MaxInt64/g.size {
		return math.MaxInt64
	}
	return (g.number - 1) * g.size
}

// of is the number of pages that total rows fill.
func (g page) of(total int64) int64 { return (total + g.size - 1) / g.size }
