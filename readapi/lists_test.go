package readapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/readapi/access"
)

// listing is a list's body.
type listing struct {
	Data []struct {
		ID           string `json:"id"`
		RecordingSid string `json:"recordingSid"`
	} `json:"data"`
	Total, Page, PageSize, TotalPages int
}

// keys identify the rows. Calls and voicemails have a recordingSid too, but also an id.
func (l listing) keys() []string {
	keys := []string{}
	for _, row := range l.Data {
		if row.ID == "" {
			row.ID = row.RecordingSid
		}
		keys = append(keys, row.ID)
	}
	return keys
}

// listModel is a list operation's table and how to query it directly.
type listModel struct {
	operation, table string
	key              string
	dated            bool
	listed           string            // condition of the rows in the list
	narrowed         string            // condition of those that a key narrowed to extension %s reads
	filters          map[string]string // parameter → column
	values           map[string][]any  // column → values of the rows
}

func listModels(calls, extensions []any) []listModel {
	const everywhere = "true"
	statuses := []any{"active", "inactive", "released"}
	numbers := []any{"101", "102", "#1 & more", "+15550001"}
	sids := []any{"CA1", "CA2", "CA same&sid", "CA"} // the last one begins the others
	return []listModel{
		{"listPhones", "phone", "id", false, "kind = 'phone'", "", map[string]string{"status": "status", "extensionId": "extension_id"},
			map[string][]any{"status": statuses, "extension_id": append(extensions, nil)}},
		{"listPhoneNumbers", "phone_number", "id", false, "kind = 'phone-number'", "", map[string]string{"status": "status", "phoneNumber": "number"},
			map[string][]any{"status": statuses, "number": numbers}},
		{"listExtensions", "extension", "id", false, "kind = 'extension'", "", map[string]string{"status": "status", "number": "number"},
			map[string][]any{"status": statuses, "number": numbers}},
		{"listAgentConfigs", "agent_config", "id", false, "kind = 'agent-config'", "", map[string]string{"status": "status", "agentNumber": "number"},
			map[string][]any{"status": {"active", "inactive", "paused", "archived", "testing"}, "number": {nil, 1, 2, 9}}},
		{"listCallGroups", "call_group", "id", false, "kind = 'call-group'", "", map[string]string{"status": "status", "number": "number"},
			map[string][]any{"status": statuses, "number": numbers}},
		{"listCallMenus", "call_menu", "id", false, "kind = 'call-menu'", "", map[string]string{"status": "status"},
			map[string][]any{"status": statuses}},
		{"listCallLogs", "call_log", "id", true, everywhere, "(answered_by_extension_id = '%[1]s' or from_extension_id = '%[1]s')",
			map[string]string{"callSid": "call_sid"},
			map[string][]any{"call_sid": sids, "answered_by_extension_id": append(extensions, nil), "from_extension_id": append(extensions, nil)}},
		{"listCallAnalyses", "analysis", "id", true, "listed",
			"call_id in (select id from projection.call_log where answered_by_extension_id = '%[1]s' or from_extension_id = '%[1]s')",
			map[string]string{"callSid": "call_sid", "callLogId": "call_id"},
			map[string][]any{"call_sid": sids, "call_id": calls, "listed": {true, true, false}}},
		{"listVoicemails", "voicemail", "id", true, everywhere, "", nil, nil},
		{"listCallRecordings", "recording", "recording_sid", true, "call_sid is not null and status <> 'unavailable'", "",
			map[string]string{"status": "status", "callSid": "call_sid"},
			map[string][]any{"status": {"ready", "processing", "unavailable"}, "call_sid": append(sids, nil)}},
	}
}

// rows are random rows of a week and of three years, many of them at the same instant or at the bounds of a day or
// of a month.
func (s listModel) rows(random *rand.Rand, system uuid.UUID, ids []any) []columns {
	rows := make([]columns, len(ids))
	for i, id := range ids {
		rows[i] = columns{"system_id": system, "created_at": randomInstant(random), "id": id}
		if s.key == "recording_sid" {
			rows[i][s.key] = "RE" + fmt.Sprint(id)
		}
		for column, values := range s.values {
			rows[i][column] = values[random.IntN(len(values))]
		}
	}
	return rows
}

func randomIDs(count int) []any {
	ids := make([]any, count)
	for i := range ids {
		ids[i] = uuid.New()
	}
	return ids
}

func randomInstant(random *rand.Rand) time.Time {
	day := at("2026-02-26T00:00:00Z").AddDate(0, 0, random.IntN(7))
	if random.IntN(2) == 0 {
		day = at("2023-01-28T00:00:00Z").AddDate(0, random.IntN(40), random.IntN(5)) // around the end of a month
	}
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

// listQuery is a request's query string and the equivalent SQL condition.
type listQuery struct {
	values    url.Values
	condition string
	arguments []any
}

func (q *listQuery) where(condition string, argument any) {
	q.arguments = append(q.arguments, argument)
	q.condition += fmt.Sprintf(" and "+condition, len(q.arguments))
}

func (s listModel) query(random *rand.Rand, system uuid.UUID) listQuery {
	q := listQuery{values: url.Values{}, condition: s.listed}
	q.where("system_id = $%d", system)
	for parameter, column := range s.filters {
		value := s.values[column][random.IntN(len(s.values[column]))]
		if random.IntN(2) == 0 || value == nil || value == "unavailable" {
			continue
		}
		q.values.Set(parameter, fmt.Sprint(value))
		q.where(column+"::text = $%d", fmt.Sprint(value))
	}
	if !s.dated {
		return q
	}
	from, to := randomInstant(random), randomInstant(random)
	if to.Before(from) {
		from, to = to, from
	}
	if random.IntN(2) == 0 {
		q.values.Set("dateFrom", from.Format(time.RFC3339Nano))
		q.where("created_at >= $%d", from)
	}
	if random.IntN(2) == 0 {
		q.values.Set("dateTo", to.Format(time.RFC3339Nano))
		q.where("created_at <= $%d", to)
	}
	return q
}

// sorted are the keys that sorting the table returns.
func (h *harness) sorted(s listModel, q listQuery) []string {
	h.Helper()
	rows, _ := h.pool.Query(context.Background(),
		"select "+s.key+"::text from projection."+relationOf(s.table)+" where "+q.condition+" order by created_at desc, "+s.key+" desc", q.arguments...)
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		h.Fatal(err)
	}
	return keys
}

// Every page of every list has the rows that sorting the table returns, for every filter and key.
func TestLists_Pages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.contract = nil // many responses, whose form other tests check
	random := rand.New(rand.NewPCG(1, 2))
	system, other := h.system("one"), h.system("two")
	extensions := []any{h.extension(system), h.extension(system), h.extension(system)}
	calls := randomIDs(100)
	all := listModels(calls, extensions)
	lists := slices.DeleteFunc(allOperations(), func(o operation) bool { return o.Scope == "" || o.isReport() || !strings.HasPrefix(o.ID, "list") })
	if len(all) != len(lists) {
		t.Errorf("lists with a model = %d, want %d", len(all), len(lists))
	}
	for _, s := range all {
		ids := randomIDs(100)
		if s.table == "call_log" {
			ids = calls
		}
		insertRows(t, h.pool, s.table, s.rows(random, system, ids)...)
		insertRows(t, h.pool, s.table, s.rows(random, other, randomIDs(20))...)
	}
	countRows(t, h.pool)
	key := h.key(system)
	narrowed := make([]access.IssuedKey, len(extensions))
	for i, extension := range extensions {
		narrowed[i] = h.key(system, narrowedTo(extension.(uuid.UUID)))
	}
	for _, s := range all {
		for range 6 {
			h.comparePages(s, system, key, s.query(random, system), 10+random.IntN(41))
		}
		for i, extension := range extensions {
			for range 2 {
				q := s.query(random, system)
				if s.narrowed != "" {
					q.condition += " and " + fmt.Sprintf(s.narrowed, extension)
				}
				h.comparePages(s, system, narrowed[i], q, 10+random.IntN(41))
			}
		}
	}
}

// comparePages reads every page of a list and the page after the last.
func (h *harness) comparePages(s listModel, system uuid.UUID, key access.IssuedKey, q listQuery, size int) {
	h.Helper()
	all := h.sorted(s, q)
	pages := (len(all) + size - 1) / size
	for page := 1; page <= pages+1; page++ {
		q.values.Set("page", strconv.Itoa(page))
		q.values.Set("pageSize", strconv.Itoa(size))
		path := operationNamed(h, s.operation).examplePath(system.String()) + "?" + q.values.Encode()
		w := h.get(path, withKey(key))
		h.expectCode(path, w, "")
		h.expectHeaders(path, w, map[string]string{"Data-Complete-Through": watermark})
		var got listing
		decode(h, w, &got)
		first := min((page-1)*size, len(all))
		if want := all[first:min(first+size, len(all))]; !slices.Equal(got.keys(), want) {
			h.Fatalf("%s: rows = %v, want %v", path, got.keys(), want)
		}
		if got.Total != len(all) || got.TotalPages != pages || got.Page != page || got.PageSize != size {
			h.Fatalf("%s: total, totalPages, page, pageSize = %d, %d, %d, %d, want %d, %d, %d, %d",
				path, got.Total, got.TotalPages, got.Page, got.PageSize, len(all), pages, page, size)
		}
		if link := w.Header().Get("Link"); (link != "") != (page < pages) {
			h.Fatalf("%s: Link = %q, want one: %t", path, link, page < pages)
		}
		if tag := w.Header().Get("ETag"); (tag == "") != s.dated {
			h.Fatalf("%s: ETag = %q, want none only if the list is dated", path, tag)
		}
	}
}

// Links keep the filters. Those of dated lists have dateTo at the newest row, those of topology have none.
func TestLists_Link(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	for _, s := range listModels(nil, nil) {
		for i := range 3 {
			row := columns{"system_id": system, "id": uuid.New(), "recording_sid": fmt.Sprint("RE", i),
				"created_at": at(fmt.Sprintf("2026-03-01T00:00:0%d.5Z", i))}
			insertRows(t, h.pool, s.table, row)
		}
		countRows(t, h.pool)
		path := operationNamed(t, s.operation).examplePath(system.String())
		want := baseURL + path + "?page=2&pageSize=2"
		if s.dated {
			want = baseURL + path + "?dateTo=2026-03-01T00%3A00%3A02.500Z&page=2&pageSize=2"
		}
		next := nextLink(t, h.get(path+"?pageSize=2", withKey(key)))
		if next != want {
			t.Errorf("%s: next = %s, want %s", s.operation, next, want)
		}
		last := h.get(next, withKey(key))
		h.expectCode(next, last, "")
		h.expectHeaders(next, last, map[string]string{"Link": ""})
		if statuses := s.values["status"]; statuses != nil {
			filtered := fmt.Sprintf("&pageSize=1&status=%s", statuses[0])
			if next := nextLink(t, h.get(path+"?"+filtered, withKey(key))); !strings.HasSuffix(next, "page=2"+filtered) {
				t.Errorf("%s: next = %s, want the suffix page=2%s", s.operation, next, filtered)
			}
		}
	}
}

// A walk along the links reads every call that existed at its first page exactly once, whatever is added during the
// walk.
func TestLists_Walk(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	var calls []call
	for i := range 45 {
		calls = append(calls, call{id: uuid.New(), sid: "CA same&sid", createdAt: at("2026-03-01T23:59:00Z").Add(time.Duration(i) * time.Second)})
	}
	h.calls(system, calls...)
	newest := at("2026-03-03T00:00:00Z")
	for query, skipped := range map[string]int{
		"pageSize=5&callSid=CA+same%26sid":               0,
		"pageSize=7&dateFrom=2026-03-01T23:59:10.5Z":     0,
		"pageSize=20&dateTo=2026-03-02T00:00:00%2B00:00": 0,
		"pageSize=20&dateTo=2099-01-01T00:00:00Z":        0,
		"page=2&pageSize=15":                             15,
	} {
		path := strings.Replace(systemPath(system, "/call-logs?"+query), system.String(), strings.ToUpper(system.String()), 1)
		var seen []string
		total := -1
		for path != "" {
			w := h.get(path, withKey(key))
			h.expectCode(path, w, "")
			var page listing
			decode(t, w, &page)
			if total < 0 {
				total = page.Total
			}
			if page.Total != total {
				t.Errorf("%s: total = %d, want that of the first page, %d", path, page.Total, total)
			}
			seen = append(seen, page.keys()...)
			path = nextLink(t, w)
			newest = newest.Add(time.Hour)
			h.calls(system, call{id: uuid.New(), sid: "CA same&sid", createdAt: newest})
		}
		slices.Sort(seen)
		if distinct := len(slices.Compact(slices.Clone(seen))); distinct != len(seen) || len(seen) != total-skipped {
			t.Errorf("%s: rows = %d, distinct = %d, want %d of both", query, len(seen), distinct, total-skipped)
		}
	}
}

// nextLink is the URL of the next page, empty on the last.
func nextLink(tb testing.TB, w *httptest.ResponseRecorder) string {
	tb.Helper()
	link := w.Header().Get("Link")
	if link == "" {
		return ""
	}
	target, ok := strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
	if _, err := url.Parse(target); err != nil || !ok || !strings.HasPrefix(target, baseURL+"/customer/phone-systems/") {
		tb.Fatalf("Link = %q, want an operation's URL with rel=next", link)
	}
	return target
}
