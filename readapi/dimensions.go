package readapi

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgtype"

	"callboard/readapi/encode"
	"callboard/readapi/query"
)

// dimensions answers with a snapshot of everything that retained calls refer to. It is complete, or the request fails.
func (r *reports) dimensions(ctx context.Context, q *request, out *reply) error {
	if err := q.prepare(ctx, plainBytes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.dimensionsTimeout)
	defer cancel()
	found, err := r.projection.GetCallLogReportDimensions(ctx, q.system)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &problem{code: externalServiceTimeout, cause: err}
	case err != nil:
		return err
	}
	b := append(out.body, `{"generatedAt":"`...)
	b = encode.Time(b, found.GeneratedAt)
	out.etagSkip = len(b)
	b = append(b, '"')
	for _, f := range dimensionFamilies() {
		b = f.append(b, found.Rows)
	}
	out.body = append(b, '}')
	out.snapshot = found.Snapshot
	out.hasETag = true
	return checkSize(out)
}

// dimensionFamily is one array of the snapshot.
type dimensionFamily struct {
	member string
	family string // in the projection
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

// append writes the family's array, in the order of the rows.
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
	b = appendNullText(append(b, `,"number":`...), d.Number)
	return appendDimensionState(b, d)
}

func appendNamedDimension(b []byte, d *query.Dimension) []byte {
	return appendDimensionState(appendDimensionName(b, d), d)
}

func appendDimensionName(b []byte, d *query.Dimension) []byte {
	b = encode.String(append(b, `{"id":`...), d.Key)
	return appendNullText(append(b, `,"name":`...), d.Name)
}

func appendDimensionState(b []byte, d *query.Dimension) []byte {
	b = appendNullText(append(b, `,"status":`...), d.Status)
	b = appendNullTime(append(b, `,"updatedAt":`...), d.UpdatedAt)
	return append(b, '}')
}

func appendCodeDimension(b []byte, d *query.Dimension) []byte {
	b = encode.String(append(b, `{"code":`...), d.Key)
	b = encode.String(append(b, `,"label":`...), query.Label(d.Key, d.Name.String))
	b = appendNullText(append(b, `,"source":`...), d.Source)
	b = appendNullText(append(b, `,"status":`...), d.Status)
	b = appendNullFloat(append(b, `,"score":`...), d.Score)
	b = appendNullTime(append(b, `,"updatedAt":`...), d.UpdatedAt)
	return append(b, '}')
}

func appendNullText(b []byte, t pgtype.Text) []byte {
	if !t.Valid {
		return append(b, "null"...)
	}
	return encode.String(b, t.String)
}

func appendNullFloat(b []byte, n pgtype.Float8) []byte {
	if !n.Valid {
		return append(b, "null"...)
	}
	return encode.Float(b, n.Float64)
}

func appendNullTime(b []byte, t pgtype.Timestamptz) []byte {
	if !t.Valid {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = encode.Time(b, t.Time)
	return append(b, '"')
}
