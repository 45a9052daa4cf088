package query

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/readapi/query/querytest"
	"callboard/schema/schematest"
)

// A page at any offset of any window has the rows that sorting the window's rows gives, and their number as the total.
func TestList_PagesAtEveryOffset(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	database.OnePartition(t)
	pool, conn := database.Pool(t), connect(t, database)
	execAll(t, pool, `insert into projection.phone_system (id, version, name, organization_id)
		values ('`+busyID+`', 1, 'Harbour Dental', '`+groupID+`')`)
	p := New(nil)
	random := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		execAll(t, pool, "truncate projection.call_log, projection.recording")
		insertOverYears(t, pool, random)
		for range 6 {
			w := Window{From: instantOfYears(random), Until: instantOfYears(random)}
			if w.Until.Before(w.From) {
				w.From, w.Until = w.Until, w.From
			}
			if random.IntN(6) == 0 {
				w = Always()
			}
			f := Filter{System: uuid.MustParse(busyID), Window: w}
			expectPages(t, conn, random, p.CallLogs(), f, "select id::text from projection.call_log where true")
			expectPages(t, conn, random, p.CallRecordings(), f, "select recording_sid from projection.recording where true")
			f.Exact = []Exact{{Status, "ready"}}
			expectPages(t, conn, random, p.CallRecordings(), f, "select recording_sid from projection.recording where status = 'ready'")
			f.Exact, f.Narrowing = nil, narrowed()
			expectPages(t, conn, random, p.CallLogs(), f,
				"select id::text from projection.call_log where answered_by_extension_id = '"+extensionID+"'")
		}
	}
}

// insertOverYears adds calls and recordings of more than three years, half of them around the end of one February.
func insertOverYears(t *testing.T, pool *pgxpool.Pool, random *rand.Rand) {
	t.Helper()
	for range 60 {
		ofFewDays := at("2024-02-27T12:00:00Z").Add(time.Duration(random.IntN(20)) * 12 * time.Hour)
		for _, createdAt := range []time.Time{instantOfYears(random), ofFewDays} {
			call := querytest.Row{"system_id": busyID, "id": uuid.New(), "created_at": createdAt}
			if random.IntN(3) == 0 {
				call["answered_by_extension_id"] = extensionID
			}
			querytest.Insert(t, pool, "call_log", call)
			querytest.Insert(t, pool, "recording", querytest.Row{
				"system_id": busyID, "recording_sid": "RE" + uuid.NewString(), "created_at": createdAt,
				"status": []string{"ready", "processing"}[random.IntN(2)],
			})
		}
	}
	querytest.Count(t, pool)
}

// instantOfYears is an instant of 40 months, often at or just before the start of a day or of a month.
func instantOfYears(random *rand.Rand) time.Time {
	instant := at("2022-11-01T00:00:00Z").AddDate(0, random.IntN(40), 0)
	if random.IntN(2) == 0 {
		instant = instant.AddDate(0, 0, random.IntN(31))
	}
	switch random.IntN(4) {
	case 0:
		return instant
	case 1:
		return instant.Add(-time.Millisecond)
	default:
		return instant.Add(time.Duration(random.IntN(86400e3)) * time.Millisecond)
	}
}

// expectPages reads pages at all offsets, the one after the last row too.
func expectPages(t *testing.T, conn *pgx.Conn, random *rand.Rand, l *List, f Filter, keys string) {
	t.Helper()
	const window = " and created_at >= $1 and created_at < $2 order by created_at desc, 1 desc"
	rows, _ := conn.Query(t.Context(), keys+window, f.Window.From, f.Window.Until)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for offset := range len(all) + 2 {
		f.Offset, f.Limit = int64(offset), 1+random.Int64N(30)
		got, total := readPage(t, conn, l, f)
		first := min(offset, len(all))
		if want := all[first:min(first+int(f.Limit), len(all))]; !slices.Equal(got, want) || total != int64(len(all)) {
			t.Fatalf("%s, %+v: total = %d, rows = %v, want %d, %v", l.name, f, total, got, len(all), want)
		}
	}
}

// readPage returns the keys of a page's rows, and the total.
func readPage(t *testing.T, conn *pgx.Conn, l *List, f Filter) (keys []string, total int64) {
	t.Helper()
	sql, arguments, err := l.statement(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := conn.Query(t.Context(), sql, ofBusy(arguments...)...)
	list, err := pgx.CollectRows(rows, pgx.RowToMap)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range list {
		total = row["total"].(int64)
		switch key := row["id"].(type) {
		case [16]byte:
			keys = append(keys, uuid.UUID(key).String())
		case string:
			keys = append(keys, key)
		}
	}
	return keys, total
}
