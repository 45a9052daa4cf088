package readapi

import (
	"context"
	"errors"
	"time"

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

	// A statement that runs again begins another body.
	var w *dimensionWriter
	begin := func(generatedAt time.Time) func(query.Dimension) {
		w = newDimensionWriter(out.body, q.room(), generatedAt)
		return w.add
	}

	completeThrough, err := r.projection.GetCallLogReportDimensions(ctx, q.system, begin)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &problem{code: externalServiceTimeout, cause: err}
	case err != nil:
		return err
	}

	// Each snapshot has another time, so the ETag leaves the time out.
	out.etagSkip = w.start
	out.body, out.leftOut = w.end(), w.leftOut
	out.completeThrough = completeThrough
	out.hasETag = true
	return nil
}

// dimensionWriter writes a snapshot, whose dimensions come in the order of its arrays.
type dimensionWriter struct {
	body    []byte
	room    int
	leftOut int      // bytes of dimensions that have no room in the body
	start   int      // of the members after generatedAt
	arrays  []string // arrays that have not ended; the first of them is being written
	count   int      // entries of that array
}

func newDimensionWriter(body []byte, room int, generatedAt time.Time) *dimensionWriter {
	w := &dimensionWriter{room: room, arrays: []string{
		"callGroups", "extensions", "handlerEntries",
		"categories", "overallSentiments", "employeeSentiments", "customerSentiments",
	}}

	w.body = encode.Time(append(body, `{"generatedAt":"`...), generatedAt)
	w.start = len(w.body)
	w.body = append(w.body, `","callGroups":[`...)
	return w
}

// next ends an array, and begins the next one.
func (w *dimensionWriter) next() {
	w.body, w.arrays, w.count = append(w.body, ']'), w.arrays[1:], 0
	if len(w.arrays) > 0 {
		w.body = append(w.body, `,"`+w.arrays[0]+`":[`...)
	}
}

// add appends a dimension to its array, or counts its bytes if it has no room.
func (w *dimensionWriter) add(d query.Dimension) {
	array, entry := dimensionEntry(d)

	// A family without dimensions has an empty array.
	for w.arrays[0] != array {
		w.next()
	}

	start := len(w.body)
	if w.count > 0 {
		w.body = append(w.body, ',')
	}
	w.body = appendJSON(w.body, entry)
	w.count++

	// A dimension without room is only counted, which tells the size of the complete body.
	if len(w.body) > w.room {
		w.leftOut += len(w.body) - start
		w.body = w.body[:start]
	}
}

// end ends the snapshot and returns its body.
func (w *dimensionWriter) end() []byte {
	for len(w.arrays) > 0 {
		w.next()
	}
	return append(w.body, '}')
}

type numberedDimension struct {
	ID        string  `json:"id"`
	Name      *string `json:"name"`
	Number    *string `json:"number"`
	Status    *string `json:"status"`
	UpdatedAt *string `json:"updatedAt"`
}

type unnumberedDimension struct {
	ID        string  `json:"id"`
	Name      *string `json:"name"`
	Status    *string `json:"status"`
	UpdatedAt *string `json:"updatedAt"`
}

type codeDimension struct {
	Code      string   `json:"code"`
	Label     string   `json:"label"`
	Source    *string  `json:"source"`
	Status    *string  `json:"status"`
	Score     *float64 `json:"score"`
	UpdatedAt *string  `json:"updatedAt"`
}

// dimensionEntry returns the array of a dimension, and its entry there.
func dimensionEntry(d query.Dimension) (array string, entry any) {
	var updatedAt *string
	if d.UpdatedAt != nil {
		updatedAt = new(string(encode.Time(nil, *d.UpdatedAt)))
	}

	name := ""
	if d.Name != nil {
		name = *d.Name
	}
	code := codeDimension{d.Key, query.Label(d.Key, name), d.Source, d.Status, d.Score, updatedAt}

	switch d.Family {
	case "call_group":
		return "callGroups", numberedDimension{d.Key, d.Name, d.Number, d.Status, updatedAt}
	case "extension":
		return "extensions", numberedDimension{d.Key, d.Name, d.Number, d.Status, updatedAt}
	case "representative":
		return "handlerEntries", unnumberedDimension{d.Key, d.Name, d.Status, updatedAt}

	// The other families are kinds of classifications: they have codes instead of identifiers.
	case "category":
		return "categories", code
	case "overall_sentiment":
		return "overallSentiments", code
	case "employee_sentiment":
		return "employeeSentiments", code
	default:
		return "customerSentiments", code
	}
}
