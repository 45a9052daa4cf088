package readapi

import (
	"cmp"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"callboard/readapi/access"
	"callboard/readapi/query"
)

// parameters are a request's query parameters. An operation reads the parameters that it knows, in the contract's
// order; the others are unknown. Each problem is collected, and err reports all of them.
type parameters struct {
	excess   bool // there are more than maxParameters; none was read
	given    []parameter
	index    map[string]int // in given, by name
	problems []fieldProblem
}

type parameter struct {
	name, value string
	malformed   bool
	times       int
	known       bool // the operation has read it
}

// maxParameters is the largest number of parameters in a query string, empty ones included. No operation has more
// than a third of them.
const maxParameters = 32

// parseParameters splits a query string. A parameter with a bad escape is malformed. So is one with a semicolon, since
// some servers take it for a separator.
func parseParameters(query string) *parameters {
	if strings.Count(query, "&") >= maxParameters {
		return &parameters{excess: true}
	}
	p := &parameters{index: make(map[string]int)}
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
		p.problems = append(p.problems, fieldProblem{"", invalidFormat,
			"The query string is malformed; percent-encode the names of parameters."})
		return
	}

	// A problem of a value is reported when the operation reads the parameter.
	if i, ok := p.index[name]; ok {
		p.given[i].times++
		return
	}

	// A value with a semicolon or NUL is malformed, like a bad escape.
	p.index[name] = len(p.given)
	value, err := url.QueryUnescape(rawValue)
	malformed := err != nil || strings.Contains(rawValue, ";") || !utf8.ValidString(value) ||
		strings.ContainsRune(value, 0)
	p.given = append(p.given, parameter{name: name, value: value, malformed: malformed, times: 1})
}

// err is a [*problem] with everything that is wrong with the query, or nil. The operation must have read every
// parameter that it knows.
func (p *parameters) err() error {
	if p.excess {
		return &problem{code: validationFailed, errors: []fieldProblem{
			{"", tooLong, "The query string has more than " + strconv.Itoa(maxParameters) + " parameters; send fewer."},
		}}
	}

	for _, g := range p.given {
		if !g.known {
			p.reject(g.name, unknownParameter, "The operation has no such parameter; remove it.")
		}
	}

	if len(p.problems) > 0 {
		return &problem{code: validationFailed, errors: p.problems}
	}
	return nil
}

func (p *parameters) reject(name string, code fieldCode, detail string) {
	p.problems = append(p.problems, fieldProblem{pointer(name), code, detail})
}

// value is a parameter's value. It is false if the parameter is not given, repeated, malformed or empty.
func (p *parameters) value(name string) (string, bool) {
	i, ok := p.index[name]
	if !ok {
		return "", false
	}
	g := &p.given[i]
	g.known = true

	// A parameter has at most one problem.
	switch {
	case g.times > 1:
		p.reject(name, repeated, "The parameter is given more than once; give it once.")
	case g.malformed:
		p.reject(name, invalidFormat, "The value is malformed; percent-encode it as UTF-8 without NUL.")
	case g.value == "":
		p.reject(name, invalidFormat, "The value is empty; give one or omit the parameter.")
	default:
		return g.value, true
	}
	return "", false
}

// The longest text that a filter accepts, in characters: no stored text is longer.
const (
	maxText    = 1024
	maxCallSid = 64
)

// The methods from limitedText to identifier, and those that oneOf makes, read a filter's value. It is empty if the
// parameter is not given or not valid.

// limitedText refuses a value that begins with a space, which is what an unescaped + means in a URL: a number without
// its + would find nothing.
func (p *parameters) limitedText(name string, limit int) string {
	value, ok := p.value(name)
	switch {
	case !ok:
	case strings.HasPrefix(value, " "):
		p.reject(name, invalidFormat, "The value begins with a space; encode + as %2B.")
	case utf8.RuneCountInString(value) > limit:
		p.reject(name, tooLong, "The value must have at most "+strconv.Itoa(limit)+" characters.")
	default:
		return value
	}
	return ""
}

func (p *parameters) freeText(name string) string { return p.limitedText(name, maxText) }

func (p *parameters) callSid(name string) string { return p.limitedText(name, maxCallSid) }

// agentNumber is a whole number from 1 to 9.
func (p *parameters) agentNumber(name string) string {
	if n := p.integer(name, 0, 9); n != 0 {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

func (p *parameters) identifier(name string) string {
	value, ok := p.value(name)
	if !ok {
		return ""
	}
	id, ok := parseUUID(value)
	if !ok {
		p.reject(name, invalidFormat, malformedIdentifier)
		return ""
	}
	return id.String()
}

func oneOf(values ...string) func(*parameters, string) string {
	return func(p *parameters, name string) string {
		value, ok := p.value(name)
		if ok && !slices.Contains(values, value) {
			p.reject(name, notAllowed, "The value must be one of: "+strings.Join(values, ", ")+".")
			return ""
		}
		return value
	}
}

// integer is a number of plain decimal digits, from 1 to limit. It is fallback if the parameter is not given or not
// valid.
func (p *parameters) integer(name string, fallback, limit int64) int64 {
	value, ok := p.value(name)
	if !ok {
		return fallback
	}

	digits, negative := strings.CutPrefix(value, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		p.reject(name, invalidFormat, "The value must be a whole number.")
		return fallback
	}

	// A text of digits fails only if 64 bits can't hold the number.
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil && negative, err == nil && n < 1:
		p.reject(name, tooSmall, "The value must be at least 1.")
	case err != nil || n > limit:
		p.reject(name, tooLarge, "The value must be at most "+strconv.FormatInt(limit, 10)+".")
	default:
		return n
	}
	return fallback
}

// flag is false if the parameter is not given.
func (p *parameters) flag(name string) bool {
	value, ok := p.value(name)
	if ok && value != "true" && value != "false" {
		p.reject(name, invalidFormat, "The value must be true or false.")
	}
	return value == "true"
}

const (
	defaultPageSize = 25
	maxPageSize     = 100
)

// page reads the parameters that every list has.
func (p *parameters) page() page {
	return page{
		number: p.integer("page", 1, math.MaxInt64),
		size:   p.integer("pageSize", defaultPageSize, maxPageSize),
	}
}

// window reads dateFrom and dateTo, both inclusive. Stored times have whole milliseconds: a dateFrom between two
// milliseconds begins at the later of them, a dateTo ends with the earlier of them.
func (p *parameters) window() query.Window {
	w := query.Always()
	from, hasFrom := p.instant("dateFrom")
	to, hasTo := p.instant("dateTo")

	if hasFrom {
		w.From = roundUp(from)
	}
	if hasTo {
		w.Until = to.Truncate(time.Millisecond).Add(time.Millisecond)
	}

	if hasFrom && hasTo {
		p.expectOrder(from, to)
	}
	return w
}

// expectOrder refuses a window that ends before it begins.
func (p *parameters) expectOrder(from, to time.Time) {
	if from.After(to) {
		p.reject("dateTo", tooSmall, "dateTo must not be before dateFrom.")
	}
}

// instant is a date-time in UTC. It is false if the parameter is not given or not valid.
func (p *parameters) instant(name string) (time.Time, bool) {
	text, ok := p.value(name)
	if !ok {
		return time.Time{}, false
	}
	t, ok := parseInstant(text)
	if !ok {
		p.reject(name, invalidFormat, "The value must be an RFC 3339 date-time in UTC, such as 2026-03-01T00:00:00Z; "+
			"encode + as %2B.")
	}
	return t, ok
}

func (p *parameters) requiredInstant(name string) (time.Time, bool) {
	if _, ok := p.index[name]; !ok {
		p.reject(name, required, "The parameter is required.")
		return time.Time{}, false
	}
	return p.instant(name)
}

// timeField is the timestamp that a report's window applies to.
func (p *parameters) timeField() query.TimeField {
	field := oneOf(string(query.CreatedAt), string(query.UpdatedAt))(p, "timeField")
	return query.TimeField(cmp.Or(field, string(query.CreatedAt)))
}

// cursor opens the cursor for a window; without the parameter it is start. A mismatch is reported only for a valid
// window.
func (p *parameters) cursor(s *access.Sealer, window windowDigest, start cursor) cursor {
	// The digest of an invalid window matches no cursor, but the cursor is not at fault.
	validWindow := len(p.problems) == 0

	text, ok := p.value("cursor")
	if !ok {
		return start
	}

	c, wrong := openCursor(s, text, window)
	switch {
	case wrong == cursorInvalid:
		p.reject("cursor", wrong, "The cursor is not valid; start the window again without a cursor.")
	case wrong == cursorMismatch && validWindow:
		p.reject("cursor", wrong, "The cursor belongs to another phone system, timeField, dateFrom or dateTo; "+
			"start this window without a cursor.")
	}
	return c
}

var instantForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$`)

// parseInstant reads an RFC 3339 date-time in UTC, as far as its nanoseconds.
func parseInstant(text string) (time.Time, bool) {
	if !instantForm.MatchString(text) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, text)
	return t.UTC(), err == nil
}

// roundUp is the first whole millisecond that is not before an instant: stored times have whole milliseconds.
func roundUp(t time.Time) time.Time {
	if whole := t.Truncate(time.Millisecond); whole.Equal(t) {
		return whole
	}
	return t.Truncate(time.Millisecond).Add(time.Millisecond)
}
