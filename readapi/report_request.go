package readapi

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/query"
	"callboard/readapi/seal"
)

// The limits of a page of report rows.
const (
	defaultReportLimit  = 25
	maxReportLimit      = 100
	maxTranscribedLimit = 25 // with transcripts
)

// reportRequest is a page of a window's report rows as it is asked for.
type reportRequest struct {
	system      uuid.UUID
	field       query.TimeField
	from, until time.Time // the window's ends, at whole milliseconds
	window      binding
	at          cursor
	limit       int64
	transcripts bool
}

// reportRequest reads the parameters of the report list. The window is half open: a time within a millisecond is, for what is
// stored, the next whole one at both ends.
func (p *parameters) reportRequest(system uuid.UUID, cursors *seal.Sealer) reportRequest {
	q := reportRequest{system: system}
	field := oneOf(string(query.CreatedAt), string(query.UpdatedAt))(p, "timeField")
	q.field = query.TimeField(cmp.Or(field, string(query.CreatedAt)))
	from, hasFrom := p.requiredInstant("dateFrom")
	to, hasTo := p.requiredInstant("dateTo")
	if hasFrom && hasTo && from.compare(to) > 0 {
		p.refuse("dateTo", tooSmall, "dateTo is before dateFrom.")
	}
	q.from, q.until, q.window = from.roundUp(), to.roundUp(), bind(system, q.field, from, to)
	q.at = q.start()
	if text, ok := p.text("cursor"); ok {
		q.at = p.cursor(cursors, text, q.window)
	}
	most := int64(maxReportLimit)
	if q.transcripts = p.flag("includeTranscripts"); q.transcripts {
		most = maxTranscribedLimit
	}
	q.limit = p.integer("limit", defaultReportLimit, most)
	return q
}

// start is the cursor in front of the window's first row.
func (q reportRequest) start() cursor { return cursor{after: query.Before(q.from)} }

func (q reportRequest) filter(at cursor) query.ReportFilter {
	return query.ReportFilter{
		System: q.system, TimeField: q.field, After: at.after, Until: q.until,
		Limit: q.limit, Transcripts: q.transcripts, MaxStored: maxStoredTranscripts,
	}
}

func (p *parameters) requiredInstant(name string) (instant, bool) {
	if _, ok := p.places[name]; !ok {
		p.refuse(name, required, "The parameter is required.")
		return instant{}, false
	}
	return p.instant(name)
}

// cursor opens a cursor for a window. A window that is itself refused says nothing of whether the cursor is its own.
func (p *parameters) cursor(s *seal.Sealer, text string, window binding) cursor {
	refusedWindow := len(p.problems) > 0
	c, wrong := openCursor(s, text, window)
	switch {
	case wrong == cursorInvalid:
		p.refuse("cursor", wrong, "This is not a cursor that was handed out here; begin the window again without one.")
	case wrong == cursorMismatch && !refusedWindow:
		p.refuse("cursor", wrong, "The cursor belongs to another phone system, timeField, dateFrom or dateTo; begin the window without it.")
	}
	return c
}

// flag is true or false; false where it is not given.
func (p *parameters) flag(name string) bool {
	value, ok := p.text(name)
	if ok && value != "true" && value != "false" {
		p.refuse(name, invalidFormat, "The value is neither true nor false.")
	}
	return value == "true"
}
