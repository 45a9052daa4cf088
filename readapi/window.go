package readapi

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"callboard/readapi/query"
)

// instant is a time as a request gives it, to any precision.
type instant struct {
	millisecond time.Time
	rest        string // decimals of a millisecond, without trailing zeros
}

var instantForm = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|\+00:00)$`)

func parseInstant(text string) (instant, bool) {
	parts := instantForm.FindStringSubmatch(text)
	if parts == nil {
		return instant{}, false
	}
	decimals := parts[2] + "000"
	t, err := time.Parse("2006-01-02T15:04:05.000", parts[1]+"."+decimals[:3])
	return instant{millisecond: t, rest: strings.TrimRight(decimals[3:], "0")}, err == nil
}

func (i instant) compare(other instant) int {
	return cmp.Or(i.millisecond.Compare(other.millisecond), strings.Compare(i.rest, other.rest))
}

// roundUp is the first whole millisecond that is not before the instant.
func (i instant) roundUp() time.Time {
	if i.rest != "" {
		return i.millisecond.Add(time.Millisecond)
	}
	return i.millisecond
}

// window reads dateFrom and dateTo, both inclusive. What is stored has whole milliseconds: a dateFrom within one excludes it,
// a dateTo within one includes it.
func (p *parameters) window() query.Window {
	w := query.Always()
	from, hasFrom := p.instant("dateFrom")
	to, hasTo := p.instant("dateTo")
	if hasFrom {
		w.From = from.roundUp()
	}
	if hasTo {
		w.Until = to.millisecond.Add(time.Millisecond)
	}
	if hasFrom && hasTo && from.compare(to) > 0 {
		p.refuse("dateTo", tooSmall, "dateTo is before dateFrom.")
	}
	return w
}

func (p *parameters) instant(name string) (instant, bool) {
	text, ok := p.text(name)
	if !ok {
		return instant{}, false
	}
	i, ok := parseInstant(text)
	if !ok {
		p.refuse(name, invalidFormat, "The value is not an RFC 3339 date-time in UTC; a + in a URL is written %2B.")
	}
	return i, ok
}
