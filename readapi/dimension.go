package readapi

import (
	"context"
	"errors"

	"callboard/readapi/query"
)

// dimensions answers with everything that retained calls refer to, or with nothing: a snapshot is whole.
func (r *reports) dimensions(ctx context.Context, q *request, out *reply) error {
	if err := q.parameters.problem(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.budget)
	defer cancel()
	found, err := r.projection.GetCallLogReportDimensions(ctx, q.system)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &problem{code: externalServiceTimeout, cause: err}
	case err != nil:
		return err
	}
	b := append(out.body, `{"generatedAt":"`...)
	b = appendTime(b, found.GeneratedAt)
	out.untagged = len(b)
	b = append(b, '"')
	for _, f := range dimensionFamilies() {
		b = f.append(b, found.Rows)
	}
	out.body = append(b, '}')
	out.completeThrough = found.CompleteThrough
	out.tagged = true
	return reportSize(out)
}

// dimensionFamily is one array of the snapshot.
type dimensionFamily struct {
	member string
	family string // the projection's name
	entry  func([]byte, *query.Dimension) []byte
}

func dimensionFamilies() []dimensionFamily {
	return []dimensionFamily{
		{"callGroups", "call_group", appendNumberedDimension},
		{"extensions", "extension", appendNumberedDimension},
		{"handlerEntries", "representative", appendNamedDimension},
		{"categories", "category", appendCodeDimension},
		{"overallSentiments", "overall_sentiment", appendCodeDimension},
		{"employeeSentiments", "employee_sentiment", appendCodeDimension},
		{"customerSentiments", "customer_sentiment", appendCodeDimension},
	}
}

// append writes the family's member, in the order of the rows.
func (f dimensionFamily) append(b []byte, rows []query.Dimension) []byte {
	b = append(b, `,"`...)
	b = append(b, f.member...)
	b = append(b, `":[`...)
	count := 0
	for i := range rows {
		if rows[i].Family == f.family {
			b = f.entry(append(b, separator(count, "")...), &rows[i])
			count++
		}
	}
	return append(b, ']')
}

func appendNumberedDimension(b []byte, d *query.Dimension) []byte {
	b = appendDimensionName(b, d)
	b = append(b, `,"number":`...)
	b = appendNullText(b, d.Number)
	return appendDimensionState(b, d)
}

func appendNamedDimension(b []byte, d *query.Dimension) []byte {
	return appendDimensionState(appendDimensionName(b, d), d)
}

func appendDimensionName(b []byte, d *query.Dimension) []byte {
	b = append(b, `{"id":`...)
	b = appendString(b, d.Key)
	b = append(b, `,"name":`...)
	return appendNullText(b, d.Name)
}

func appendDimensionState(b []byte, d *query.Dimension) []byte {
	b = append(b, `,"status":`...)
	b = appendNullText(b, d.Status)
	b = append(b, `,"updatedAt":`...)
	return append(appendNullTime(b, d.UpdatedAt), '}')
}

func appendCodeDimension(b []byte, d *query.Dimension) []byte {
	b = append(b, `{"code":`...)
	b = appendString(b, d.Key)
	b = append(b, `,"label":`...)
	b = appendString(b, label(d.Key, d.Name.String))
	b = append(b, `,"source":`...)
	b = appendNullText(b, d.Source)
	b = append(b, `,"status":`...)
	b = appendNullText(b, d.Status)
	b = append(b, `,"score":`...)
	b = appendNullFloat(b, d.Score)
	b = append(b, `,"updatedAt":`...)
	return append(appendNullTime(b, d.UpdatedAt), '}')
}
