package readapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/readapi/access"
	"callboard/readapi/query/querytest"
)

// listing is a list as its clients see it.
type listing struct {
	Data []struct {
		ID           string `json:"id"`
		RecordingSid string `json:"recordingSid"`
	} `json:"data"`
	Total, Page, PageSize, TotalPages int
}

// keys are what the rows are known by. Calls and voicemails have recordings too, and ids of their own.
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

// source is a list operation's table and what can be asked of it, for a naive reader.
type source struct {
	operation, table string
	key              string
	dated            bool
	shown            string            // which of the rows are in the list
	own              string            // which of them a key narrowed to extension %s sees
	filters          map[string]string // parameter → column
	values           map[string][]any  // column → what rows have in it
}

func sources(calls, extensions []any) []source {
	const everywhere = "true"
	statuses := []any{"active", "inactive", "released"}
	numbers := []any{"101", "102", "#1 & more", "+15550001"}
	sids := []any{"CA1", "CA2", "CA same&sid", "CA3"}
	return []source{
		{"listPhones", "phone", "id", false, everywhere, "", map[string]string{"status": "status", "extensionId": "extension_id"},
			map[string][]any{"status": statuses, "extension_id": append(extensions, nil)}},
		{"listPhoneNumbers", "phone_number", "id", false, everywhere, "", map[string]string{"status": "status", "phoneNumber": "phone_number"},
			map[string][]any{"status": statuses, "phone_number": numbers}},
		{"listExtensions", "extension", "id", false, everywhere, "", map[string]string{"status": "status", "number": "number"},
			map[string][]any{"status": statuses, "number": numbers}},
		{"listAgentConfigs", "agent_config", "id", false, everywhere, "", map[string]string{"status": "status", "agentNumber": "agent_number"},
			map[string][]any{"status": {"active", "inactive", "paused", "archived", "testing"}, "agent_number": {nil, 1, 2, 9}}},
		{"listCallGroups", "call_group", "id", false, everywhere, "", map[string]string{"status": "status", "number": "number"},
			map[string][]any{"status": statuses, "number": numbers}},
		{"listCallMenus", "call_menu", "id", false, everywhere, "", map[string]string{"status": "status"},
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

// rows are some of the source's over a few days, many at the same instant, many at a day's edge.
func (s source) rows(random *rand.Rand, system uuid.UUID, ids []any) []querytest.Row {
	rows := make([]querytest.Row, len(ids))
	for i, id := range ids {
		rows[i] = querytest.Row{"system_id": system, "created_at": someInstant(random), "id": id}
		if s.key == "recording_sid" {
			rows[i][s.key] = "RE" + fmt.Sprint(id)[:8]
		}
		for column, values := range s.values {
			rows[i][column] = values[random.IntN(len(values))]
		}
	}
	return rows
}

func someIDs(count int) []any {
	ids := make([]any, count)
	for i := range ids {
		ids[i] = uuid.New()
	}
	return ids
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

// question is what a request asks for, as its query and as the condition that a naive reader has.
type question struct {
	values    url.Values
	condition string
	arguments []any
}

func (q *question) where(condition string, argument any) {
	q.arguments = append(q.arguments, argument)
	q.condition += fmt.Sprintf(" and "+condition, len(q.arguments))
}

func (s source) question(random *rand.Rand, system uuid.UUID) question {
	q := question{values: url.Values{}, condition: s.shown}
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
	from, to := someInstant(random), someInstant(random)
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

// naive is the answer that sorting the table gives.
func (h *harness) naive(s source, q question) []string {
	h.Helper()
	rows, err := h.pool.Query(context.Background(),
		"select "+s.key+"::text from projection."+s.table+" where "+q.condition+" order by created_at desc, "+s.key+" desc", q.arguments...)
	if err != nil {
		h.Fatal(err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		h.Fatal(err)
	}
	return keys
}

// Every page of every list is the one that sorting the table gives, under every filter, to every key.
func TestLists(t *testing.T) {
	h := newHarness(t)
	random := rand.New(rand.NewPCG(1, 2))
	system, other := h.system("one"), h.system("two")
	extensions := []any{h.extension(system), h.extension(system), h.extension(system)}
	calls := someIDs(300)
	all := sources(calls, extensions)
	for _, s := range all {
		ids := someIDs(300)
		if s.table == "call_log" {
			ids = calls
		}
		querytest.Insert(t, h.pool, s.table, s.rows(random, system, ids)...)
		querytest.Insert(t, h.pool, s.table, s.rows(random, other, someIDs(20))...)
	}
	querytest.Count(t, h.pool)
	every := h.key(system)
	for _, s := range all {
		for range 60 {
			h.comparePages(s, system, every, s.question(random, system), 1+random.IntN(100))
		}
		for _, extension := range extensions {
			narrowed := h.key(system, narrowedTo(extension.(uuid.UUID)))
			for range 20 {
				q := s.question(random, system)
				if s.own != "" {
					q.condition += " and " + fmt.Sprintf(s.own, extension)
				}
				h.comparePages(s, system, narrowed, q, 1+random.IntN(100))
			}
		}
	}
}

// comparePages walks a list by number to the page after the last.
func (h *harness) comparePages(s source, system uuid.UUID, key access.IssuedKey, q question, size int) {
	h.Helper()
	want := h.naive(s, q)
	pages := (len(want) + size - 1) / size
	for page := 1; page <= pages+1; page++ {
		q.values.Set("page", strconv.Itoa(page))
		q.values.Set("pageSize", strconv.Itoa(size))
		path := operationNamed(h, s.operation).examplePath(system.String()) + "?" + q.values.Encode()
		w := h.get(path, withKey(key))
		if w.Code != 200 || w.Header().Get("Data-Complete-Through") != watermark {
			h.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		var got listing
		decode(h, w, &got)
		first := min((page-1)*size, len(want))
		expected := want[first:min(first+size, len(want))]
		if !slices.Equal(got.keys(), expected) || got.Total != len(want) || got.TotalPages != pages || got.Page != page || got.PageSize != size {
			h.Fatalf("%s: page %d of %d, %d rows of %d; want %d rows of %d", path, got.Page, got.TotalPages, len(got.Data), got.Total, len(expected), len(want))
		}
		if hasNext := w.Header().Get("Link") != ""; hasNext != (page < pages) {
			h.Fatalf("%s: link %q", path, w.Header().Get("Link"))
		}
		if tagged := w.Header().Get("ETag") != ""; tagged == s.dated {
			h.Fatalf("%s: tag %q", path, w.Header().Get("ETag"))
		}
	}
}

func operationNamed(tb testing.TB, id string) operation {
	tb.Helper()
	for _, o := range register() {
		if o.ID == id {
			return o
		}
	}
	tb.Fatalf("no operation %s", id)
	return operation{}
}

// Every list has its source in these tests.
func TestLists_Whole(t *testing.T) {
	var lists, tried []string
	for _, o := range register() {
		if strings.HasPrefix(o.ID, "list") && o.ID != "listAccessiblePhoneSystems" && !o.Report {
			lists = append(lists, o.ID)
		}
	}
	for _, s := range sources(nil, nil) {
		tried = append(tried, s.operation)
	}
	if !slices.Equal(lists, tried) {
		t.Errorf("lists %v, tried %v", lists, tried)
	}
}

// A list of nothing is an empty list.
func TestLists_Empty(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	for _, s := range sources(nil, nil) {
		for _, query := range []string{"?page=7&pageSize=3", "?page=9223372036854775807&pageSize=100"} {
			w := h.get(operationNamed(t, s.operation).examplePath(system.String())+query, withKey(key))
			var got listing
			decode(t, w, &got)
			if w.Code != 200 || !strings.HasPrefix(w.Body.String(), `{"data":[],"total":0,"page":`) ||
				!strings.HasSuffix(w.Body.String(), `,"totalPages":0}`) || w.Header().Get("Link") != "" {
				t.Errorf("%s: %d %s %v", s.operation, w.Code, w.Body, w.Header())
			}
		}
	}
}

// Links keep the filters. Those of what happened have their end pinned at the newest row, those of topology have none.
func TestLists_Link(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	for _, s := range sources(nil, nil) {
		for i := range 3 {
			row := querytest.Row{"system_id": system, "id": uuid.New(), "recording_sid": fmt.Sprint("RE", i),
				"created_at": at(fmt.Sprintf("2026-03-01T00:00:0%d.5Z", i))}
			querytest.Insert(t, h.pool, s.table, row)
		}
		querytest.Count(t, h.pool)
		path := operationNamed(t, s.operation).examplePath(system.String())
		want := "?page=2&pageSize=2"
		if s.dated {
			want = "?dateTo=2026-03-01T00%3A00%3A02.500Z&page=2&pageSize=2"
		}
		next := nextOf(t, h.get(path+"?pageSize=2", withKey(key)).Header())
		if next != baseURL+path+want {
			t.Errorf("%s: next is %s", s.operation, next)
		}
		if last := h.get(next, withKey(key)); last.Code != 200 || last.Header().Get("Link") != "" {
			t.Errorf("%s: %d %v", next, last.Code, last.Header())
		}
		if statuses := s.values["status"]; statuses != nil {
			filtered := fmt.Sprintf("&pageSize=1&status=%s", statuses[0])
			if next := nextOf(t, h.get(path+"?"+filtered, withKey(key)).Header()); !strings.HasSuffix(next, "page=2"+filtered) {
				t.Errorf("%s: next is %s", s.operation, next)
			}
		}
	}
}
