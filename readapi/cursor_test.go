package readapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/readapi/access"
	"callboard/readapi/query"
	"callboard/schema/schematest"
)

// walkReports walks through a window and returns the rows' identifiers. Each page has its own limit.
func (h *harness) walkReports(path string, key access.IssuedKey, limit func(page int) int) []uuid.UUID {
	h.Helper()
	var seen []uuid.UUID
	cursor := ""
	for page := 0; ; page++ {
		next := fmt.Sprintf("%s&limit=%d", path, limit(page))
		if cursor != "" {
			next += "&cursor=" + cursor
		}
		w := h.get(next, withKey(key))
		h.expectCode(next, w, "")
		var got reportPage
		decode(h, w, &got)
		for _, row := range got.Data {
			seen = append(seen, row.ID)
		}
		if got.NextCursor == nil || *got.NextCursor == "" || len(got.Data) > limit(page) || got.HasMore && len(got.Data) < limit(page) {
			h.Fatalf("%s: rows = %d, hasMore = %t, nextCursor = %v, want a full page or the last one, with a cursor", next, len(got.Data), got.HasMore, got.NextCursor)
		}
		if cursor = *got.NextCursor; !got.HasMore {
			return seen
		}
	}
}

// A walk returns the rows that one select returns, whatever the rows and the window.
func TestCursor_Property(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.contract = nil // many responses, whose form other tests check
	rapid.Check(t, func(t *rapid.T) {
		system := h.system("one")
		instants := rapid.Map(rapid.IntRange(0, 12), func(ms int) time.Time { return at(windowFrom).Add(time.Duration(ms) * time.Millisecond) })
		var calls []call
		for range rapid.IntRange(0, 40).Draw(t, "calls") {
			calls = append(calls, call{id: uuid.New(), sid: "CA1", createdAt: instants.Draw(t, "createdAt")})
		}
		h.insertCalls(system, calls...)
		h.exec("update projection.call_log set updated_at = created_at + (get_byte(uuid_send(id), 0) % 5) * interval '1 ms' where system_id = $1", system)
		from, to := instants.Draw(t, "from"), instants.Draw(t, "to")
		if to.Before(from) {
			from, to = to, from
		}
		column := rapid.SampledFrom([]string{"created_at", "updated_at"}).Draw(t, "column")
		want := schematest.QueryOne[[]uuid.UUID](h, h.pool, "select array_agg(id order by "+column+", id) from projection.call_log where system_id = $1 and "+
			column+" >= $2 and "+column+" < $3", system, from, to)
		limits := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 4).Draw(t, "limits")
		query := reportQuery("timeField", map[string]string{"created_at": "createdAt", "updated_at": "updatedAt"}[column],
			"dateFrom", from.Format(time.RFC3339Nano), "dateTo", to.Format(time.RFC3339Nano))
		got := h.walkReports(reportPath(system, query), h.key(system), func(page int) int { return limits[page%len(limits)] })
		if !slices.Equal(got, want) {
			t.Errorf("rows = %v, want %v", got, want)
		}
	})
}

// cursorOf is the first page's cursor.
func (h *harness) cursorOf(path string, key access.IssuedKey) string {
	h.Helper()
	var page reportPage
	decode(h, h.get(path, withKey(key)), &page)
	if page.NextCursor == nil {
		h.Fatalf("%s: nextCursor = null, want a cursor", path)
	}
	return *page.NextCursor
}

// A cursor is valid for the window that it was issued for, however that is spelled, and for no other.
func TestCursor_Window(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system, other := h.system("one"), h.system("two")
	key := h.key(system)
	given := h.cursorOf(reportPath(system, reportQuery("dateFrom", "2026-03-01T00:00:00.0005Z")), key)
	same := []string{"dateFrom", "2026-03-01T00:00:00.0005Z", "cursor", given}
	for name, c := range map[string]struct {
		key    access.IssuedKey
		system uuid.UUID
		more   []string
		want   string
	}{
		"the same":                   {key, system, nil, ""},
		"explicit createdAt":         {key, system, []string{"timeField", "createdAt"}, ""},
		"another limit":              {key, system, []string{"limit", "100"}, ""},
		"with transcripts":           {key, system, []string{"includeTranscripts", "true"}, ""},
		"another key":                {h.key(system), system, nil, ""},
		"from spelled longer":        {key, system, []string{"dateFrom", "2026-03-01T00:00:00.000500Z"}, ""},
		"to spelled differently":     {key, system, []string{"dateTo", "2026-03-02T00:00:00.000+00:00"}, ""},
		"from 100 ns later":          {key, system, []string{"dateFrom", "2026-03-01T00:00:00.0006Z"}, "/cursor CURSOR_MISMATCH"},
		"from rounded up":            {key, system, []string{"dateFrom", "2026-03-01T00:00:00.001Z"}, "/cursor CURSOR_MISMATCH"},
		"to moved":                   {key, system, []string{"dateTo", "2026-03-01T23:59:59.999Z"}, "/cursor CURSOR_MISMATCH"},
		"updatedAt":                  {key, system, []string{"timeField", "updatedAt"}, "/cursor CURSOR_MISMATCH"},
		"another system":             {h.key(other), other, nil, "/cursor CURSOR_MISMATCH"},
		"a bad limit":                {key, system, []string{"limit", "101"}, "/limit TOO_LARGE"},
		"a bad window":               {key, system, []string{"dateTo", "x"}, "/dateTo INVALID_FORMAT"},
		"a space before":             {key, system, []string{"cursor", " " + given}, "/cursor CURSOR_INVALID"},
		"one character less":         {key, system, []string{"cursor", given[1:]}, "/cursor CURSOR_INVALID"},
		"in upper case":              {key, system, []string{"cursor", strings.ToUpper(given)}, "/cursor CURSOR_INVALID"},
		"sealed with another secret": {key, system, []string{"cursor", cursor{}.seal(testSealer(t, strings.Repeat("another", 32), "cursor"), windowDigest{})}, "/cursor CURSOR_INVALID"},
		"sealed for another purpose": {key, system, []string{"cursor", h.sealed("another purpose", make([]byte, cursorLength))}, "/cursor CURSOR_INVALID"},
		"of a later version":         {key, system, []string{"cursor", h.sealed("cursor", append([]byte{cursorVersion + 1}, make([]byte, cursorLength-1)...))}, "/cursor CURSOR_INVALID"},
		"sealed, but empty":          {key, system, []string{"cursor", h.sealed("cursor", nil)}, "/cursor CURSOR_INVALID"},
		"sealed, with other bytes":   {key, system, []string{"cursor", h.sealed("cursor", append([]byte{cursorVersion}, make([]byte, cursorLength-1)...))}, "/cursor CURSOR_MISMATCH"},
	} {
		w := h.get(reportPath(c.system, reportQuery(append(slices.Clone(same), c.more...)...)), withKey(c.key))
		if c.want == "" {
			h.expectCode(name, w, "")
			continue
		}
		h.expectCode(name, w, validationFailed)
		if got := problemIn(t, w).fields(); got != c.want {
			t.Errorf("%s: errors = %s, want %s", name, got, c.want)
		}
	}
	upper := strings.Replace(reportPath(system, reportQuery(same...)), system.String(), strings.ToUpper(system.String()), 1)
	h.expectCode("system in upper case", h.get(upper, withKey(key)), "")
}

func TestCursor_SealAndOpen(t *testing.T) {
	t.Parallel()
	s := testSealer(t, "secret of thirty-two bytes or so", "cursor")
	rapid.Check(t, func(t *rapid.T) {
		var window, other windowDigest
		copy(window[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "window"))
		copy(other[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "other"))
		c := cursor{early: rapid.Bool().Draw(t, "early"), after: query.ReportKey{
			Time: time.UnixMilli(rapid.Int64Range(-62167219200001, 253402300800000).Draw(t, "time")),
		}}
		copy(c.after.ID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		sealed := c.seal(s, window)
		if got, wrong := openCursor(s, sealed, window); wrong != "" || got != c {
			t.Fatalf("opened cursor = %+v, %q, want %+v", got, wrong, c)
		}
		if _, wrong := openCursor(s, sealed, other); window != other && wrong != cursorMismatch {
			t.Fatalf("code for another window = %q, want %s", wrong, cursorMismatch)
		}
	})
}

func testSealer(tb testing.TB, secret, purpose string) *access.Sealer {
	tb.Helper()
	s, err := access.NewSealer([]byte(secret), purpose)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// sealed is a message sealed with the reader's secret.
func (h *harness) sealed(purpose string, message []byte) string {
	h.Helper()
	return testSealer(h, string(h.config.Secret), purpose).Seal(message)
}
