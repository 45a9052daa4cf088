package store_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

// allSystems are the systems of foldtest's histories, and none.
func allSystems() []uuid.UUID { return []uuid.UUID{uuid.Nil, foldtest.ID(1), foldtest.ID(2)} }

// rowsOf yields the rows of some tables, one table after the other.
func rowsOf(tables []string, ofTable func(table string) iter.Seq2[store.Row, error]) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for _, table := range tables {
			for row, err := range ofTable(table) {
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

func foldedRows(state *fold.State, c store.Catalog) iter.Seq2[store.Row, error] {
	return rowsOf(store.Tables(), func(table string) iter.Seq2[store.Row, error] { return store.FoldedRows(state, c, table) })
}

func storedRows(conn *pgx.Conn, c store.Catalog) iter.Seq2[store.Row, error] {
	return rowsOf(store.Tables(), func(table string) iter.Seq2[store.Row, error] {
		return store.StoredRows(context.Background(), conn, c, table, nil)
	})
}

func storedRowsOf(conn *pgx.Conn, c store.Catalog, systems []uuid.UUID) iter.Seq2[store.Row, error] {
	return rowsOf(store.Tables(), func(table string) iter.Seq2[store.Row, error] {
		return store.StoredRowsOf(context.Background(), conn, c, table, systems)
	})
}

// describe returns the rows as texts with table, key and fields. It checks that the rows of each table come in the order of their keys.
func describe(t failer, rows iter.Seq2[store.Row, error]) (list []string) {
	t.Helper()
	var table string
	var last store.Key
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		if row.Table == table && row.CompareKey(last) <= 0 {
			t.Fatalf("%s: key %x follows %x", table, row.Key(), last)
		}
		table, last = row.Table, row.Key().Clone(nil)
		list = append(list, text(row))
	}
	return list
}

// texts returns the rows as texts, in any order.
func texts(t failer, rows iter.Seq2[store.Row, error]) (list []string) {
	t.Helper()
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, text(row))
	}
	return list
}

func text(row store.Row) string {
	fields := make([]string, len(row.Fields))
	for i, field := range row.Fields {
		if fields[i] = hex.EncodeToString(field); field == nil {
			fields[i] = "null"
		}
	}
	return fmt.Sprintf("%s %x %s %s", row.Table, row.Key(), row.System, strings.Join(fields, " "))
}

// checkStored checks that the stored rows equal the folded ones, byte for byte and in their order, and returns their number.
func checkStored(t failer, conn *pgx.Conn, state *fold.State, systems []uuid.UUID) int {
	t.Helper()
	c := readCatalog(t, conn, "projection")
	want := describe(t, foldedRows(state, c))
	for read, got := range map[string][]string{
		"all": describe(t, storedRows(conn, c)), "of the phone systems": describe(t, storedRowsOf(conn, c, systems)),
	} {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("%s: stored row = %s, want %s", read, got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%s: stored rows = %d, want %d", read, len(got), len(want))
		}
	}
	return len(want)
}

func TestStoredRows_LargeRowsAndMany(t *testing.T) {
	schematest.NeedOneServer(t, "no partition was claimed")
	t.Parallel()
	conn := connect(t, schematest.New(t), "projection")
	state := foldedCompany(3, 7000)
	long := strings.Repeat("Hello, Zoë. ", 200_000)
	_, err := state.Fold(events.Changed(&events.Transcript{
		PhoneSystemID: foldtest.ID(1), VoicemailID: events.Some(foldtest.ID(40)), Version: 1, Status: events.TranscriptCompleted,
		Text: events.Some(long),
	}), 0)
	if err != nil {
		t.Fatal(err)
	}
	copyState(t, conn, state)
	systems, err := store.PhoneSystemIDs(t.Context(), conn, readCatalog(t, conn, "projection"))
	if err != nil {
		t.Fatal(err)
	}
	if n := checkStored(t, conn, state, systems); n < 20_000 {
		t.Errorf("rows = %d, want several statements of one table", n)
	}
}

type tableOfSystem struct {
	table  string
	system uuid.UUID
}

func TestStoredRowsOf_SomeSystems(t *testing.T) {
	t.Parallel()
	conn := connect(t, schematest.New(t), "projection")
	history := foldtest.FullHistory()
	history = append(history, foldtest.TimedEvent{Event: events.Changed(&events.Voicemail{ID: foldtest.ID(40), PhoneSystemID: foldtest.ID(2), Version: 1})})
	copyState(t, conn, folded(history))
	c := readCatalog(t, conn, "projection")
	for _, test := range []struct {
		name    string
		tables  []string
		systems []uuid.UUID
		want    map[tableOfSystem]int64
	}{
		{"one of each", []string{"voicemail"}, []uuid.UUID{foldtest.ID(2)}, map[tableOfSystem]int64{{"voicemail", foldtest.ID(2)}: 1}},
		{
			"two tables, two systems", []string{"voicemail", "phone_system"}, allSystems()[1:],
			map[tableOfSystem]int64{{"voicemail", foldtest.ID(1)}: 2, {"voicemail", foldtest.ID(2)}: 1, {"phone_system", foldtest.ID(1)}: 1},
		},
		{
			"of no system", store.Tables(), []uuid.UUID{uuid.Nil},
			map[tableOfSystem]int64{
				{"phone_system_group", uuid.Nil}: 2, {"phone_system_group_member", uuid.Nil}: 2, {"classification", uuid.Nil}: 1, {"global_directory", uuid.Nil}: 1,
			},
		},
		{"groups are of no system", []string{"phone_system_group", "phone_system_group_member"}, allSystems()[1:], map[tableOfSystem]int64{}},
		{"no systems", store.Tables(), nil, map[tableOfSystem]int64{}},
		{"unknown table", []string{"fax"}, allSystems(), map[tableOfSystem]int64{}},
	} {
		got := map[tableOfSystem]int64{}
		for row, err := range rowsOf(test.tables, func(table string) iter.Seq2[store.Row, error] {
			return store.StoredRowsOf(t.Context(), conn, c, table, test.systems)
		}) {
			if err != nil {
				t.Fatal(err)
			}
			got[tableOfSystem{row.Table, row.System}]++
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%s: rows = %v, want %v", test.name, got, test.want)
		}
	}
}

// Each node of a Citus cluster has a copy of classifications and groups. Only that of the node with the partition of a phone system's events
// changes together with the partition's position.
func TestStoredRowsOf_CopyOfPartitionsNode(t *testing.T) {
	schematest.NeedCitus(t)
	t.Parallel()
	database := schematest.New(t)
	const partitions = 16
	systems := []uuid.UUID{uuid.Nil}
	for n := range 8 {
		systems = append(systems, foldtest.ID(n+1))
	}
	exec(t, database, fmt.Sprintf("update projection.generation set partitions = %d", partitions))
	exec(t, database, fmt.Sprintf(`
		insert into projection.position (partition, stream, stream_created, sequence, epoch, clock, watermark)
		select n, 'phones', now(), 0, 1, now(), now() from generate_series(0, %d) n`, partitions-1))
	exec(t, database, "insert into projection.phone_system_group (id, version, name, phone_system_ids) values (gen_random_uuid(), 1, 'Group', '{}')")
	for _, system := range systems {
		exec(t, database, fmt.Sprintf(`
			insert into projection.classification (system_id, kind, code, version, label, status, updated_at)
			values ('%s', 'category', 'sales', 1, 'Sales', 'active', now())`, system))
	}
	// Until Citus has committed on all nodes, the copies differ. Here they stay different.
	exec(t, database, "select run_command_on_placements('projection.classification', 'update %s set version = current_setting(''port'')::int')")
	exec(t, database, "select run_command_on_placements('projection.phone_system_group', 'update %s set version = current_setting(''port'')::int')")

	conn := connect(t, database, "projection")
	c := readCatalog(t, conn, "projection")
	nodes := make(map[int]bool)
	for _, system := range systems {
		port := schematest.QueryOne[int](t, database.Pool(t), `
			select nodeport from pg_dist_shard_placement
			where shardid = get_shard_id_for_distribution_column('projection.position', $1::int)`, events.Partition(system, partitions))
		nodes[port] = true
		tables := []string{"classification"}
		if system == uuid.Nil {
			tables = append(tables, "phone_system_group")
		}
		for _, table := range tables {
			rows := describe(t, store.StoredRowsOf(t.Context(), conn, c, table, []uuid.UUID{system}))
			if version := fmt.Sprintf(" %016x ", port); len(rows) != 1 || !strings.Contains(rows[0], version) {
				t.Errorf("%s of %s = %q, want one row with the version of its node, %d", table, system, rows, port)
			}
		}
	}
	if len(nodes) != schematest.WorkerCount {
		t.Errorf("nodes = %v, want all workers", nodes)
	}
}

// From any row on, a table is read to its end.
func TestStoredRows_BehindEachKey(t *testing.T) {
	t.Parallel()
	conn := connect(t, schematest.New(t), "projection")
	copyState(t, conn, folded(foldtest.FullHistory()))
	c := readCatalog(t, conn, "projection")
	for _, table := range store.Tables() {
		var keys []store.Key
		for row, err := range store.StoredRows(t.Context(), conn, c, table, nil) {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, row.Key().Clone(nil))
		}
		all := describe(t, store.StoredRows(t.Context(), conn, c, table, nil))
		for i, key := range keys {
			if got := describe(t, store.StoredRows(t.Context(), conn, c, table, key)); !slices.Equal(got, all[i+1:]) {
				t.Errorf("%s after row %d: rows = %q, want %q", table, i, got, all[i+1:])
			}
		}
		if len(keys) == 0 {
			t.Errorf("%s has no rows", table)
		}
	}
}

// A row with another partition than that of its phone system is out of reach.
func TestStoredRows_WithoutRowsOfOtherPartitions(t *testing.T) {
	schematest.NeedOneServer(t, "it moves rows to another partition")
	t.Parallel()
	database := schematest.New(t)
	conn := connect(t, database, "projection")
	exec(t, database, "update projection.generation set partitions = 4")
	state := folded(foldtest.FullHistory())
	state.Partition = int16(events.Partition(foldtest.ID(1), 4))
	copyState(t, conn, state)
	c := readCatalog(t, conn, "projection")
	before := len(describe(t, store.StoredRows(t.Context(), conn, c, "voicemail", nil)))
	if _, err := conn.Exec(t.Context(), "update voicemail set partition = (partition + 1) % 4 where id = (select min(id::text)::uuid from voicemail)"); err != nil {
		t.Fatal(err)
	}
	for read, rows := range map[string]iter.Seq2[store.Row, error]{
		"all":                  store.StoredRows(t.Context(), conn, c, "voicemail", nil),
		"of the phone systems": store.StoredRowsOf(t.Context(), conn, c, "voicemail", allSystems()),
	} {
		if got := len(describe(t, rows)); got != before-1 {
			t.Errorf("%s: rows = %d, want %d without the moved one", read, got, before-1)
		}
	}
}

func TestStoredRows_StoppingEarlyKeepsTheConnection(t *testing.T) {
	t.Parallel()
	conn := connect(t, schematest.New(t), "projection")
	copyState(t, conn, foldedCompany(2, 300))
	c := readCatalog(t, conn, "projection")
	for _, err := range store.StoredRows(t.Context(), conn, c, "call_log", nil) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if err := conn.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStoredRows_EndAtAnError(t *testing.T) {
	t.Parallel()
	conn := connect(t, schematest.New(t), "projection")
	copyState(t, conn, folded(foldtest.FullHistory()))
	c := readCatalog(t, conn, "projection")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := 0
	for _, err := range store.StoredRowsOf(ctx, conn, c, "call_log", allSystems()) {
		if n++; err == nil {
			t.Error("error = nil, want one")
		}
	}
	if n != 1 {
		t.Errorf("errors = %d, want 1", n)
	}
}

func TestFoldedRows_EndAtAnError(t *testing.T) {
	t.Parallel()
	conn := connect(t, schematest.New(t), "projection")
	state := folded(foldtest.FullHistory())
	voicemail := fold.Voicemail{Key: fold.Key{System: foldtest.ID(1), ID: foldtest.ID(49)}, Duration: 1 << 31}
	state.Voicemails.Put(voicemail.Key, voicemail)
	var last error
	for _, err := range store.FoldedRows(state, readCatalog(t, conn, "projection"), "voicemail") {
		if last != nil {
			t.Errorf("a row after %v, want none", last)
		}
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "voicemail.duration") {
		t.Errorf("error = %v, want one about voicemail.duration", last)
	}
}

// What is loaded is what the event made: an event that arrives again is no conflict with its row.
func TestLoad_RepeatedEventsDoNotConflict(t *testing.T) {
	t.Parallel()
	s, _, _ := openStore(t)
	history, from := foldtest.FullHistory(), claim(t, s)
	applyBatch(t, s, from, history)
	err := s.BeginFunc(t.Context(), func(tx *store.Tx) error {
		state, err := tx.Load(t.Context(), from.Partition, eventsOf(history), false)
		if err != nil {
			return err
		}
		for _, e := range history {
			if outcome, err := state.Fold(e.Event, e.At); err == nil && outcome != fold.Stale && outcome != fold.Ignored {
				t.Errorf("%s %s, repeated: outcome = %s, want stale", e.Type(), e.Key, outcome)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A schema of another release is compared by what both releases have.
func TestCatalog_WithoutSomeTablesAndColumns(t *testing.T) {
	schematest.NeedOneServer(t, "it changes tables")
	t.Parallel()
	s, database, pool := openStore(t)
	applyBatch(t, s, claim(t, s), foldtest.FullHistory())
	for _, change := range []string{
		"alter table projection.call_log drop column tags, drop column recording_duration",
		"alter table projection.call_log alter column duration type bigint",
		"alter table projection.phone add column colour text not null default 'black'",
		"drop table projection.tombstone",
		"alter table projection.day_count rename column system_id to owner",
	} {
		exec(t, database, change)
	}
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	var missing []string
	for _, c := range readCatalog(t, conn.Conn(), "projection").Missing() {
		missing = append(missing, c.String())
	}
	if want := []string{"call_log.tags", "call_log.recording_duration", "tombstone", "day_count"}; !slices.Equal(missing, want) {
		t.Errorf("missing = %v, want %v", missing, want)
	}
	if n := checkStored(t, conn.Conn(), folded(foldtest.FullHistory()), allSystems()); n == 0 {
		t.Error("rows = 0, want some")
	}
	if _, err := store.PhoneSystemIDs(t.Context(), conn.Conn(), readCatalog(t, conn.Conn(), "projection")); err != nil {
		t.Error(err)
	}
	if _, err := store.ReadCatalog(t.Context(), conn.Conn(), "generation_404"); err == nil {
		t.Error("catalog of a schema that isn't there: error = nil, want one")
	}
}

// A change to any one field of any table shows in the rows.
func TestStoredRows_ShowEveryField(t *testing.T) {
	schematest.NeedOneServer(t, "it moves rows to another partition")
	t.Parallel()
	database := schematest.New(t)
	copyState(t, connect(t, database, "projection"), folded(foldtest.FullHistory()))
	conn, err := pgx.Connect(t.Context(), database.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	c := readCatalog(t, conn, "projection")
	for _, table := range store.Tables() {
		before := describe(t, store.StoredRows(t.Context(), conn, c, table, nil))
		for _, column := range store.Columns(table) {
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = tx.Exec(t.Context(), fmt.Sprintf("update projection.%[1]s set %[2]s = %[3]s where ctid = (select min(ctid) from projection.%[1]s)",
				table, column, changed(t, tx, table, column)))
			if err != nil {
				t.Fatalf("%s.%s: %v", table, column, err)
			}
			if after := describe(t, store.StoredRows(t.Context(), conn, c, table, nil)); slices.Equal(after, before) || len(after) != len(before) {
				t.Errorf("%s.%s: equal rows, or %d instead of %d", table, column, len(after), len(before))
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// typeOf is a column's type as PostgreSQL calls it.
func typeOf(t *testing.T, tx pgx.Tx, table, column string) string {
	t.Helper()
	return schematest.QueryOne[string](t, tx, `
		select format_type(atttypid, atttypmod) from pg_attribute
		where attrelid = to_regclass('projection.' || $1) and attname = $2`, table, column)
}

// changed is an expression that differs from a column's value.
func changed(t *testing.T, tx pgx.Tx, table, column string) string {
	t.Helper()
	name := typeOf(t, tx, table, column)
	change, ok := map[string]string{
		"text":                     "coalesce(%s || 'x', '')",
		"json":                     "(coalesce(%s::text, '[]') || ' ')::json",
		"uuid":                     "'" + foldtest.ID(9).String() + "'",
		"uuid[]":                   "%s || '" + foldtest.ID(9).String() + "'::uuid",
		"smallint":                 "coalesce(%s + 1, 0)",
		"integer":                  "coalesce(%s + 1, 0)",
		"bigint":                   "coalesce(%s + 1, 0)",
		"double precision":         "coalesce(%s + 1, 0)",
		"boolean":                  "not %s",
		"timestamp with time zone": "coalesce(%s + interval '1 ms', to_timestamp(0))",
		"date":                     "%s + 1",
		"bytea":                    `coalesce(%s || '\x00', '\x')`,
	}[name]
	if !ok {
		t.Fatalf("%s.%s is %s, which this test doesn't know", table, column, name)
	}
	return strings.ReplaceAll(change, "%s", column)
}

// Values have the widths of their columns and are formatted like PostgreSQL does. Every column has a value in the full history.
func TestFormat_EveryColumn(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	conn := connect(t, database, "projection")
	state := folded(append(foldtest.FullHistory(), foldtest.TimedEvent{Event: events.Changed(&events.Analysis{
		ID: foldtest.ID(89), PhoneSystemID: foldtest.ID(1), Version: 1, CallID: foldtest.ID(30), Status: events.AnalysisCompleted, CreatedAt: 9,
		EmployeeSentiment: &events.Sentiment{Code: "calm", Score: events.Some(1e21)},
		OverallSentiment:  &events.Sentiment{Score: events.Some(0.1)}, CustomerSentiment: &events.Sentiment{Score: events.Some(-1e-9)},
		ScorecardScore: events.Some[float64](100), Representative: &events.RepresentativeRole{
			State: "identified", ID: events.Some(foldtest.ID(70)), Confidence: events.Some(0.75), Source: events.Some("voice"),
		},
		Category: events.Some("sales"), SentimentSource: events.Some("model"),
	})}))
	copyState(t, conn, state)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := readCatalog(t, conn, "projection")
	for _, table := range store.Tables() {
		shown := make([][]string, len(store.Columns(table)))
		for row, err := range store.FoldedRows(state, c, table) {
			if err != nil {
				t.Fatal(err)
			}
			for i, column := range store.Columns(table) {
				shown[i] = append(shown[i], store.Format(table, column, row.Fields[i]))
			}
		}
		for i, column := range store.Columns(table) {
			checkFormat(t, tx, table, column, shown[i])
		}
	}
}

func checkFormat(t *testing.T, tx pgx.Tx, table, column string, shown []string) {
	t.Helper()
	expression, ok := map[string]string{
		"text":                     `'"' || replace(replace(replace(%s, '\', '\\'), '"', '\"'), e'\n', '\n') || '"'`,
		"json":                     "left(%[1]s::text, 60) || case when length(%[1]s::text) > 60 then '…' else '' end",
		"uuid":                     "%s::text",
		"uuid[]":                   "array_to_string(%s, ',')",
		"smallint":                 "%s::text",
		"integer":                  "%s::text",
		"bigint":                   "%s::text",
		"double precision":         "%s::text",
		"boolean":                  "%s::text",
		"timestamp with time zone": `to_char(%s at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
		"date":                     "to_char(%s, 'YYYY-MM-DD')",
		"bytea":                    "encode(%s, 'hex')",
	}[typeOf(t, tx, table, column)]
	if !ok {
		t.Fatalf("%s.%s: this test doesn't know its type", table, column)
	}
	result, err := tx.Query(t.Context(), fmt.Sprintf("select coalesce(%s, 'null') from %s", fmt.Sprintf(expression, column), table))
	if err != nil {
		t.Fatalf("%s.%s: %v", table, column, err)
	}
	want, err := pgx.CollectRows(result, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s.%s: %v", table, column, err)
	}
	slices.Sort(want)
	slices.Sort(shown)
	if !slices.Equal(shown, want) {
		t.Errorf("%s.%s is shown as %q, want %q", table, column, shown, want)
	}
	if !slices.ContainsFunc(shown, func(s string) bool { return s != "null" }) {
		t.Errorf("%s.%s: the full history has no value for it", table, column)
	}
}

func TestFormat_OddValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, table, column string
		value               []byte
		want                string
	}{
		{"null", "call_log", "call_sid", nil, "null"},
		{"an empty text", "call_log", "call_sid", []byte{}, `""`},
		{"a text that reads null", "call_log", "call_sid", []byte("null"), `"null"`},
		{"a text of 60", "call_log", "call_sid", []byte(strings.Repeat("ë", 60)), `"` + strings.Repeat("ë", 60) + `"`},
		{"a text of 61", "call_log", "call_sid", []byte(strings.Repeat("ë", 61)), `"` + strings.Repeat("ë", 60) + `"…`},
		{"control characters", "call_log", "call_sid", []byte("\x1b[2J"), `"\x1b[2J"`},
		{"a long json", "call_log", "tags", []byte(strings.Repeat("1", 61)), strings.Repeat("1", 60) + "…"},
		{"no uuid", "call_log", "id", []byte{1}, "01"},
		{"no integer", "call_log", "duration", []byte{1, 2, 3}, "010203"},
		{"a small integer", "phone_system", "partition", []byte{0xff, 0xfe}, "-2"},
		{"no float", "classification", "score", []byte{1}, "01"},
		{"no boolean", "call_log", "is_edited", nil, "null"},
		{"no boolean's length", "call_log", "is_edited", []byte{1, 2}, "0102"},
		{"no time", "call_log", "created_at", []byte{1}, "01"},
		{"no date", "day_count", "day", []byte{1}, "01"},
		{"a date before 2000", "day_count", "day", []byte{0xff, 0xff, 0xff, 0xff}, "1999-12-31"},
		{"no list", "phone_system_group", "phone_system_ids", make([]byte, 21), strings.Repeat("00", 21)},
	} {
		if got := store.Format(test.table, test.column, test.value); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestPhoneSystemIDs_OfAnyTable(t *testing.T) {
	schematest.NeedOneServer(t, "no partition was claimed")
	t.Parallel()
	database := schematest.New(t)
	conn := connect(t, database, "projection")
	c := readCatalog(t, conn, "projection")
	if list, err := store.PhoneSystemIDs(t.Context(), conn, c); err != nil || len(list) > 0 {
		t.Errorf("empty tables: %v, %v", list, err)
	}
	gone := events.Identity{Entity: events.EntityRecording, System: foldtest.ID(2), Key: "RE9", Version: 4}
	copyState(t, conn, folded(append(foldtest.FullHistory(), foldtest.TimedEvent{Event: events.Deleted(gone)})))
	if list, err := store.PhoneSystemIDs(t.Context(), conn, c); err != nil || !slices.Equal(list, allSystems()) {
		t.Errorf("%v, %v, want %v", list, err, allSystems())
	}
}

// The cost is about an index entry per system and table, however many rows there are.
func TestPhoneSystemIDs_CostDoesNotDependOnRows(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	conn := connect(t, database, "projection")
	exec(t, database, "update projection.generation set partitions = 1")
	c := readCatalog(t, conn, "projection")
	_, err := conn.Exec(t.Context(), `
		insert into tombstone
		select 0, ('00000000-0000-4000-8000-00000000000' || n % 3 + 1)::uuid, 'call', n::text, 1, '', '`+uuid.Nil.String()+`'
		from generate_series(1, 30000) as n`)
	if err != nil {
		t.Fatal(err)
	}
	read := func() int {
		schematest.Exec(t, conn, "select pg_stat_force_next_flush()")
		return schematest.QueryOne[int](t, conn, `
			select (select sum(seq_tup_read) from pg_stat_user_tables where schemaname = 'projection')
				+ (select sum(idx_tup_read) from pg_stat_user_indexes where schemaname = 'projection')`)
	}
	before := read()
	if list, err := store.PhoneSystemIDs(t.Context(), conn, c); err != nil || len(list) != 3 {
		t.Fatalf("%v, %v", list, err)
	}
	if n := read() - before; n > 100 {
		t.Errorf("%d rows and entries read", n)
	}
}
