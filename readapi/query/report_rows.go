package query

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// readReports reads a report page's statement. Every row begins with common columns; the first row also has the directory. A page
// without rows is returned as one row whose other columns are null.
func readReports(rows pgx.Rows, limit int64) (ReportPage, error) {
	var page ReportPage
	var row Report
	var d directory
	into := append([]any{&page.CompleteThrough, &page.Now, &page.StoredBytes}, d.targets()...)
	common := len(into)
	into = append(into, row.targets()...)
	page.Rows = make([]Report, 0, limit)
	if !rows.Next() {
		return page, noRow(rows)
	}
	if rows.RawValues()[common] == nil {
		clear(into[common:]) // Scan skips nil targets
		return page, rows.Scan(into...)
	}
	for more := true; more; more = rows.Next() {
		if int64(len(page.Rows)) == limit {
			page.More = true
			continue
		}
		if err := rows.Scan(into...); err != nil {
			return page, err
		}
		clear(into[3:common]) // only the first row has the directory
		page.Rows = append(page.Rows, row)
	}
	d.resolve(page.Rows)
	return page, nil
}

// targets are the variables that a row's columns are scanned into.
func (r *Report) targets() []any {
	return []any{
		(*[16]byte)(&r.ID), &r.CallSid, &r.ParentCallSid, &r.Direction, &r.StartTime, &r.EndTime, &r.Duration, &r.CreatedAt, &r.UpdatedAt,
		&r.From, &r.FromDisplay, &r.FromNumber, &r.FromName, &r.To, &r.ToDisplay, &r.ToNumber, &r.ForwardedFrom,
		&r.Status, &r.Outcome, &r.CallOutcomeCode, &r.IsConverted, &r.ConversionValue, &r.OutcomeSource,
		&r.Category.Code, &r.OverallSentiment.Code, &r.OverallSentiment.Score, &r.EmployeeSentiment.Code, &r.EmployeeSentiment.Score,
		&r.CustomerSentiment.Code, &r.CustomerSentiment.Score, &r.SentimentSource, &r.ScorecardScore,
		&r.Representative.State, &r.Representative.ID, &r.Representative.Confidence, &r.Representative.Source,
		&r.RecordingSid, &r.RecordingDuration,
		&r.CallGroup.ID, &r.AnsweredByExtension.ID, &r.FromExtension.ID, &r.IsEmergency, &r.IsEdited, &r.Tags, &r.RouteSummary,
		&r.TranscriptionStatus, &r.Text, &r.Turns,
	}
}

// directory has the names and labels that a page's rows refer to, each once. Every field is an array column.
type directory struct {
	families []string
	ids      [][16]byte
	names    []string
	numbers  []pgtype.Text

	kinds  []string
	codes  []string
	labels []string
	scores []pgtype.Float8
}

func (d *directory) targets() []any {
	return []any{&d.families, &d.ids, &d.names, &d.numbers, &d.kinds, &d.codes, &d.labels, &d.scores}
}

// resolve sets the names and labels of the rows' references.
func (d *directory) resolve(rows []Report) {
	references := make(map[referenceKey]Reference, len(d.ids))
	for i, id := range d.ids {
		references[referenceKey{d.families[i], id}] = Reference{
			ID: pgtype.UUID{Bytes: id, Valid: true}, Name: d.names[i], Number: d.numbers[i].String,
		}
	}
	codes := make(map[codeKey]int, len(d.codes))
	for i, code := range d.codes {
		codes[codeKey{d.kinds[i], code}] = i
	}
	for i := range rows {
		r := &rows[i]
		r.CallGroup = references[referenceKey{"call_group", r.CallGroup.ID.Bytes}]
		r.AnsweredByExtension = references[referenceKey{"extension", r.AnsweredByExtension.ID.Bytes}]
		r.FromExtension = references[referenceKey{"extension", r.FromExtension.ID.Bytes}]
		r.Representative.Reference = references[referenceKey{"representative", r.Representative.ID.Bytes}]
		d.setLabel(codes, "category", &r.Category)
		d.setLabel(codes, "overall_sentiment", &r.OverallSentiment)
		d.setLabel(codes, "employee_sentiment", &r.EmployeeSentiment)
		d.setLabel(codes, "customer_sentiment", &r.CustomerSentiment)
	}
}

// The keys of a directory.
type (
	referenceKey struct {
		family string
		id     uuid.UUID
	}
	codeKey struct {
		kind, code string
	}
)

func (d *directory) setLabel(codes map[codeKey]int, kind string, c *Code) {
	i, ok := codes[codeKey{kind, c.Code.String}]
	if !ok || !c.Code.Valid {
		return
	}
	c.Label = d.labels[i]
	if !c.Score.Valid {
		c.Score = d.scores[i]
	}
}
