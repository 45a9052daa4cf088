package readapi

import (
	"net/url"
	"slices"
	"strconv"
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

// next is the URL of the next page, under the same filters and those that are pinned, where they aren't given.
func (q *request) next(g page, pinned ...parameter) string {
	values := make(url.Values)
	for _, p := range slices.Concat(pinned, q.parameters.given) {
		values.Set(p.name, p.value)
	}
	values.Set("page", strconv.FormatInt(g.number+1, 10))
	return q.url + "?" + values.Encode()
}
