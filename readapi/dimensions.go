package readapi

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"callboard/readapi/encode"
	"callboard/readapi/query"
)

// dimensions answers with a snapshot of everything that retained calls refer to. It is complete, or the request fails.
func (r *reports) dimensions(ctx context.Context, q *request, out *reply) error {
	if err := q.prepare(ctx, out); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.dimensionsTimeout)
	defer cancel()
	var w *dimensionWriter
	begin := func(generatedAt time.Time) func(*query.Dimension) {
		w = newDimensionWriter(out.body, q.room(), generatedAt)
		return w.add
	}
	snapshot, err := r.projection.GetCallLogReportDimensions(ctx, q.system, begin)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &problem{code: externalServiceTimeout, cause: err}
	case err != nil:
		return err
	}
	out.etagSkip = w.start
	out.body, out.leftOut = w.end(), w.leftOut
	out.snapshot = snapshot
	out.hasETag = true
	return nil
}

// dimensionWriter writes a snapshot, whose dimensions come in the order of its arrays.
type dimensionWriter struct {
	body     []byte
	room     int
	leftOut  int               // bytes of dimensions that have no room in the body
	start    int               // of what generatedAt is not part of
	families []dimensionFamily // arrays that have not ended; the first one is being written
	count    int               // entries of it
}

func newDimensionWriter(body []byte, room int, generatedAt time.Time) *dimensionWriter {
	w := &dimensionWriter{room: room, families: dimensionFamilies()}
	w.body = encode.Time(append(body, `{"generatedAt":"`...), generatedAt)
	w.start = len(w.body)
	w.body = append(w.body, '"')
	w.begin()
	return w
}

// begin begins an array, if there is one left.
func (w *dimensionWriter) begin() {
	if len(w.families) > 0 {
		w.body, w.count = append(append(append(w.body, `,"`...), w.families[0].member...), `":[`...), 0
	}
}

// next ends an array.
func (w *dimensionWriter) next() {
	w.body, w.families = append(w.body, ']'), w.families[1:]
	w.begin()
}

func (w *dimensionWriter) add(d *query.Dimension) {
	for w.families[0].family != d.Family {
		w.next()
	}
	start := len(w.body)
	w.body = w.families[0].entry(append(w.body, separator(w.count, "")...), d)
	w.count++
	if len(w.body) > w.room {
		w.leftOut += len(w.body) - start
		w.body = w.body[:start]
	}
}

// end ends the snapshot and returns its body.
func (w *dimensionWriter) end() []byte {
	for len(w.families) > 0 {
		w.next()
	}
	return append(w.body, '}')
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
