package readapi

import (
	"net/url"
	"strconv"
	"time"
)

// appendPage writes what follows a list's rows.
func appendPage(b []byte, g page, total int64) []byte {
	b = append(b, `,"total":`...)
	b = strconv.AppendInt(b, total, 10)
	b = append(b, `,"page":`...)
	b = strconv.AppendInt(b, g.number, 10)
	b = append(b, `,"pageSize":`...)
	b = strconv.AppendInt(b, g.size, 10)
	b = append(b, `,"totalPages":`...)
	b = strconv.AppendInt(b, g.of(total), 10)
	return append(b, '}')
}

// next is the URL of the next page, under the same filters. A window without an end gets one at the newest row, so that rows
// that arrive during a walk neither repeat nor push out what the walk has yet to see.
func (q *request) next(g page, newest time.Time) string {
	values := make(url.Values)
	for _, given := range q.parameters.given {
		values.Set(given.name, given.value)
	}
	if !values.Has("dateTo") {
		values.Set("dateTo", string(appendTime(nil, newest)))
	}
	values.Set("page", strconv.FormatInt(g.number+1, 10))
	return q.url + "?" + values.Encode()
}
