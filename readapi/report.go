package readapi

import (
	"context"
	"strconv"
	"time"

	"callboard/readapi/query"
	"callboard/readapi/seal"
)

// What an answer to a report operation may weigh.
const (
	maxReportBody        = 5_500_000 // bytes as sent
	maxStoredTranscripts = 8_000_000 // bytes as stored, of all of a page's transcripts
)

// reports are the two operations from which the dashboard's export can be reproduced.
type reports struct {
	projection *query.Projection
	rows       *query.Reports
	cursors    *seal.Sealer
	budget     time.Duration // of the dimensions
	wait       time.Duration // for the watermark
}

func newReports(p *query.Projection, c Config) (*reports, error) {
	cursors, err := seal.New(c.Secret, "cursor")
	if err != nil {
		return nil, err
	}
	return &reports{projection: p, rows: p.CallLogReports(), cursors: cursors, budget: c.DimensionsBudget, wait: c.watermarkWait}, nil
}

// list answers with the next page of a window's report rows.
func (r *reports) list(ctx context.Context, q *request, out *reply) error {
	asked := q.parameters.reportRequest(q.system, r.cursors)
	if err := q.parameters.problem(); err != nil {
		return err
	}
	page, err := r.walk(ctx, asked)
	if err != nil {
		return err
	}
	if asked.transcripts && page.StoredBytes > maxStoredTranscripts {
		return &problem{code: exportTooLarge, params: []param{
			{"guard", "stored_transcripts"},
			{"storedBytes", page.StoredBytes},
			{"limitBytes", int64(maxStoredTranscripts)},
			{"rowCount", int64(len(page.Rows))},
		}}
	}
	b := append(out.body, `{"data":[`...)
	for i := range page.Rows {
		b = append(b, separator(i, "")...)
		b = appendReport(b, asked, &page.Rows[i])
	}
	b = append(b, `],"nextCursor":`...)
	b = appendString(b, page.next.seal(r.cursors, asked.window))
	b = append(b, `,"hasMore":`...)
	b = strconv.AppendBool(b, page.more)
	out.body = append(b, '}')
	out.completeThrough = page.CompleteThrough
	out.unstored = true
	return reportSize(out)
}

// reportSize refuses an answer that is larger than can be sent. It is never cut.
func reportSize(out *reply) error {
	if len(out.body) <= maxReportBody {
		return nil
	}
	return &problem{code: exportTooLarge, params: []param{
		{"actualBytes", int64(len(out.body))},
		{"maxBytes", int64(maxReportBody)},
	}}
}
