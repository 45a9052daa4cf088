package readapi

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// listing is a list as its clients see it.
type listing struct {
	Data []struct {
		ID        uuid.UUID `json:"id"`
		CallSid   string    `json:"callSid"`
		CreatedAt string    `json:"createdAt"`
	} `json:"data"`
	Total, Page, PageSize, TotalPages int
}

func (l listing) ids() []uuid.UUID {
	ids := []uuid.UUID{}
	for _, row := range l.Data {
		ids = append(ids, row.ID)
	}
	return ids
}

// oracle is a call log in memory.
type oracle []call

// filter is what a request asks for.
type filter struct {
	from, to  *time.Time // inclusive
	sid       string
	extension *uuid.UUID // of a narrowed key
}

func (o oracle) list(f filter) []uuid.UUID {
	var kept []call
	for _, c := range o {
		if (f.from == nil || !c.createdAt.Before(*f.from)) && (f.to == nil || !c.createdAt.After(*f.to)) &&
			(f.sid == "" || c.sid == f.sid) && (f.extension == nil || c.belongsTo(*f.extension)) {
			kept = append(kept, c)
		}
	}
	slices.SortFunc(kept, func(a, b call) int {
		return -cmp.Or(a.createdAt.Compare(b.createdAt), bytes.Compare(a.id[:], b.id[:]))
	})
	ids := []uuid.UUID{}
	for _, c := range kept {
		ids = append(ids, c.id)
	}
	return ids
}

func (f filter) query(page, size int) string {
	values := url.Values{"page": {strconv.Itoa(page)}, "pageSize": {strconv.Itoa(size)}}
	if f.from != nil {
		values.Set("dateFrom", f.from.Format(time.RFC3339Nano))
	}
	if f.to != nil {
		values.Set("dateTo", f.to.Format(time.RFC3339Nano))
	}
	if f.sid != "" {
		values.Set("callSid", f.sid)
	}
	return values.Encode()
}

// someCalls are calls over a few days, many at the same instant, many at a day's edge.
func someCalls(random *rand.Rand, count int, extensions []uuid.UUID) oracle {
	var calls oracle
	for range count {
		calls = append(calls, call{
			id:         uuid.New(),
			sid:        fmt.Sprintf("CA%d", random.IntN(count/3+1)),
			createdAt:  someInstant(random),
			answeredBy: someExtension(random, extensions),
			from:       someExtension(random, extensions),
		})
	}
	return calls
}

func someInstant(random *rand.Rand) time.Time {
	day := at("2026-02-26T00:00:00Z").AddDate(0, 0, random.IntN(7))
	switch random.IntN(4) {
	case 0:
		return day
	case 1:
		return day.Add(-time.Millisecond)
	case 2:
		return day.Add(time.Duration(random.IntN(4)) * 6 * time.Hour)
	}
	return day.Add(time.Duration(random.IntN(24*60*60*1000)) * time.Millisecond)
}

func someExtension(random *rand.Rand, extensions []uuid.UUID) *uuid.UUID {
	if i := random.IntN(len(extensions) + 1); i < len(extensions) {
		return &extensions[i]
	}
	return nil
}

func someFilter(random *rand.Rand, calls oracle) filter {
	var f filter
	from, to := someInstant(random), someInstant(random)
	if to.Before(from) {
		from, to = to, from
	}
	if random.IntN(2) == 0 {
		f.from = &from
	}
	if random.IntN(2) == 0 {
		f.to = &to
	}
	if random.IntN(3) == 0 {
		f.sid = calls[random.IntN(len(calls))].sid
	}
	return f
}

// Every page of every list is the one that a plain sort and slice of the same calls gives.
func TestListCallLogs_Oracle(t *testing.T) {
	r := newReader(t)
	random := rand.New(rand.NewPCG(1, 2))
	system, other := r.system("one"), r.system("two")
	extensions := []uuid.UUID{r.extension(system), r.extension(system), r.extension(system)}
	calls := someCalls(random, 400, extensions)
	r.calls(system, calls...)
	r.calls(other, someCalls(random, 50, extensions)...)

	keys := map[*uuid.UUID]access.IssuedKey{nil: r.key(system)}
	for i := range extensions {
		keys[&extensions[i]] = r.key(system, narrowedTo(extensions[i]))
	}
	for range 120 {
		f := someFilter(random, calls)
		size := 1 + random.IntN(100)
		for extension, key := range keys {
			f.extension = extension
			r.comparePages(system, key, f, size, calls.list(f))
		}
	}
}

func (r *reader) comparePages(system uuid.UUID, key access.IssuedKey, f filter, size int, want []uuid.UUID) {
	r.Helper()
	pages := (len(want) + size - 1) / size
	for page := 1; page <= pages+1; page++ {
		path := fmt.Sprintf("/customer/phone-systems/%s/call-logs?%s", system, f.query(page, size))
		w := r.get(path, withKey(key))
		if w.Code != 200 {
			r.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		var got listing
		decode(r, w, &got)
		first := min((page-1)*size, len(want))
		expected := want[first:min(first+size, len(want))]
		if !slices.Equal(got.ids(), expected) || got.Total != len(want) || got.TotalPages != pages || got.Page != page || got.PageSize != size {
			r.Fatalf("%s: page %d of %d, %d rows of %d; want %d rows of %d", path, got.Page, got.TotalPages, len(got.Data), got.Total, len(expected), len(want))
		}
		if hasNext := w.Header().Get("Link") != ""; hasNext != (page < pages) {
			r.Fatalf("%s: link %q", path, w.Header().Get("Link"))
		}
	}
}
