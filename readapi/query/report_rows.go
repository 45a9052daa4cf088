package query

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// readReports reads a report's statement: columns that are the same in every row, the dictionary of names in the first, and
// the row's own, which are null in the single row that is left of a page without any.
func readReports(rows pgx.Rows, limit int64) (ReportPage, error) {
	var page ReportPage
	var row Report
	var d dictionary
	into := append([]any{&page.CompleteThrough, &page.Now, &page.StoredBytes}, d.targets()...)
	common := len(into)
	into = append(into, row.targets()...)
	page.Rows = make([]Report, 0, limit)
	if !rows.Next() {
		return page, absent(rows)
	}
	if rows.RawValues()[common] == nil {
		clear(into[common:]) // a nil target is passed over
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
		clear(into[3:common]) // the dictionary comes once
		page.Rows = append(page.Rows, row)
	}
	d.resolve(page.Rows)
	return page, nil
}

// targets are where the columns of a row go.
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

// dictionary is what a page's rows refer to, each once: columns of arrays.
type dictionary struct {
	families []string
	ids      [][16]byte
	names    []string
	numbers  []pgtype.Text

	kinds  []string
	codes  []string
	labels []string
	scores []pgtype.Float8
}

func (d *dictionary) targets() []any {
	return []any{&d.families, &d.ids, &d.names, &d.numbers, &d.kinds, &d.codes, &d.labels, &d.scores}
}

// resolve completes rows with the dictionary's names and labels.
func (d *dictionary) resolve(rows []Report) {
	entities := make(map[entity]Reference, len(d.ids))
	for i, id := range d.ids {
		entities[entity{d.families[i], id}] = Reference{
			ID: pgtype.UUID{Bytes: id, Valid: true}, Name: d.names[i], Number: d.numbers[i].String,
		}
	}
	definitions := make(map[definition]int, len(d.codes))
	for i, code := range d.codes {
		definitions[definition{d.kinds[i], code}] = i
	}
	for i := range rows {
		r := &rows[i]
		r.CallGroup = entities[entity{"call_group", r.CallGroup.ID.Bytes}]
		r.AnsweredByExtension = entities[entity{"extension", r.AnsweredByExtension.ID.Bytes}]
		r.FromExtension = entities[entity{"extension", r.FromExtension.ID.Bytes}]
		r.Representative.Reference = entities[entity{"representative", r.Representative.ID.Bytes}]
		d.define(definitions, "category", &r.Category)
		d.define(definitions, "overall_sentiment", &r.OverallSentiment)
		d.define(definitions, "employee_sentiment", &r.EmployeeSentiment)
		d.define(definitions, "customer_sentiment", &r.CustomerSentiment)
	}
}

// entity and definition are the keys of what a dictionary holds.
type (
	entity struct {
		family string
		id     uuid.UUID
	}
	definition struct {
		kind, code string
	}
)

func (d *dictionary) define(definitions map[definition]int, kind string, c *Code) {
	i, ok := definitions[definition{kind, c.Code.String}]
	if !ok || !c.Code.Valid {
		return
	}
	c.Label = d.labels[i]
	if !c.Score.Valid {
		c.Score = d.scores[i]
	}
}
