package readapi

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
	"callboard/readapi/encode"
	"callboard/readapi/query"
)

// maxStoredTranscripts limits the transcripts of a page, in bytes as stored.
const maxStoredTranscripts = 8_000_000

// The row limits of a report page.
const (
	defaultReportLimit  = 25
	maxReportLimit      = 100
	maxTranscribedLimit = 25 // with transcripts
)

// reports are the two operations that reproduce the dashboard's export.
type reports struct {
	projection        *query.Projection
	rows              *query.Reports
	row, transcribed  *encode.Layout
	cursors           *access.Sealer
	dimensionsTimeout time.Duration
	watermarks        *watermarks
	watermarkWait     time.Duration
	timeout           time.Duration // of a request
	now               func() time.Time
}

func newReports(p *query.Projection, c Config) (*reports, error) {
	names := query.NewNameCache(query.DefaultNameMemory, c.Metrics)
	cursors, err := access.NewSealer(c.Secret, "cursor")
	if err != nil {
		return nil, err
	}
	return &reports{
		projection: p, rows: p.CallLogReports(names), cursors: cursors, watermarks: newWatermarks(p),
		row: encode.NewLayout(report()...), transcribed: encode.NewLayout(transcribedReport()...),
		dimensionsTimeout: c.DimensionsTimeout, watermarkWait: c.watermarkWait, timeout: c.Timeout, now: c.now,
	}, nil
}

// list answers with the next page of a window's report rows.
func (r *reports) list(ctx context.Context, q *request, out *reply) error {
	w := q.parameters.reportRequest(q.system, r.cursors)

	// A page with transcripts gets the large reservation at once.
	q.large = q.large || w.transcripts
	if err := q.prepare(ctx, out); err != nil {
		return err
	}

	page, err := r.walk(ctx, q, w, out)
	if err != nil {
		return err
	}

	// Above the limit the statement reads no text, so the page is of no use.
	if w.transcripts && page.StoredBytes > maxStoredTranscripts {
		return transcriptsTooLarge(page.StoredBytes, page.Count)
	}

	b := encode.String(append(out.body, `],"nextCursor":`...), page.next.seal(r.cursors, w.window))
	b = strconv.AppendBool(append(b, `,"hasMore":`...), page.more)
	out.body = append(b, '}')
	out.completeThrough, out.transcripts = page.CompleteThrough, w.transcripts
	out.noStore, out.retryAfter = true, page.retryAfter
	return nil
}

// transcriptsTooLarge is the problem of transcripts that are too large to be read.
func transcriptsTooLarge(stored int64, rows int) *problem {
	return &problem{code: exportTooLarge, params: struct {
		Guard       string `json:"guard"`
		StoredBytes int64  `json:"storedBytes"`
		LimitBytes  int64  `json:"limitBytes"`
		RowCount    int    `json:"rowCount"`
	}{"stored_transcripts", stored, maxStoredTranscripts, rows}}
}

// tooLarge is the error for a body above the size limit, which is never truncated. Only a report can have one: the
// limits of events bound every other body.
func (o operation) tooLarge(size int) error {
	if !o.isReport() {
		return fmt.Errorf("body of %d bytes, with a limit of %d: rows exceed the limits of events", size, maxBody)
	}
	return &problem{code: exportTooLarge, params: struct {
		ActualBytes int `json:"actualBytes"`
		MaxBytes    int `json:"maxBytes"`
	}{size, maxBody}}
}

// reportRequest is a request for a page of a report window.
type reportRequest struct {
	system      uuid.UUID
	field       query.TimeField
	from, until time.Time // the window's ends, at whole milliseconds
	window      windowDigest
	cursor      cursor
	limit       int64
	transcripts bool
}

// reportRequest reads the parameters of the report list. The window is half open. Stored times have whole milliseconds,
// so both of its ends are rounded up.
func (p *parameters) reportRequest(system uuid.UUID, cursors *access.Sealer) reportRequest {
	q := reportRequest{system: system, field: p.timeField()}
	from, hasFrom := p.requiredInstant("dateFrom")
	to, hasTo := p.requiredInstant("dateTo")

	if hasFrom && hasTo {
		p.expectOrder(from, to)
	}

	// The cursor is read after the window that it must match.
	q.from, q.until, q.window = roundUp(from), roundUp(to), digestWindow(system, q.field, from, to)
	q.cursor = p.cursor(cursors, q.window, q.start())

	limit := int64(maxReportLimit)
	if q.transcripts = p.flag("includeTranscripts"); q.transcripts {
		limit = maxTranscribedLimit
	}
	q.limit = p.integer("limit", defaultReportLimit, limit)
	return q
}

// start is the cursor before the window's first row.
func (q reportRequest) start() cursor { return cursor{after: query.ReportKeyBefore(q.from)} }

func (q reportRequest) filter(c cursor) query.ReportFilter {
	return query.ReportFilter{
		System: q.system, TimeField: q.field, After: c.after, Until: q.until,
		Limit: q.limit, Transcripts: q.transcripts, MaxStored: maxStoredTranscripts,
	}
}
