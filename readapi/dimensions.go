package readapi

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"callboard/readapi/query"
)

// dimensions answers with a snapshot of everything that retained calls refer to. It is complete, or the request fails.
func (r *reports) dimensions(ctx context.Context, q *request, out *reply) error {
	if err := q.parameters.err(); err != nil {
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
	b = appendTime(b, found.GeneratedAt)
	out.etagSkip = len(b)
	b = append(b, '"')
	for _, f := range dimensionFamilies() {
		b = f.append(b, found.Rows)
	}
	out.body = append(b, '}')
	out.completeThrough = found.CompleteThrough
	out.hasETag = true
	return checkReportSize(out)
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

// label is the name of a classification's code. It is the label that the phone system has for it or, if that is blank or missing,
// made of the words in the code. A code without letters and digits is its own label, quoted if it is blank.
func label(code, known string) string {
	switch {
	case !blank(known):
		return known
	case blank(code):
		return strconv.QuoteToASCII(code)
	case !strings.ContainsFunc(code, func(r rune) bool { return unicode.In(r, unicode.Letter, unicode.Digit) }):
		return code
	}
	words := strings.Join(strings.FieldsFunc(code, func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit)
	}), " ")
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

// blank reports whether a text has no visible character.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}
