package rebuild_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/rebuild"
)

// sheet is a table as the catalog has it.
type sheet struct {
	name    string
	columns []cell
}

type cell struct {
	Table, Name, Type string
	Key               bool
}

// sheets are the tables whose rows follow from events.
func (s *stage) sheets() (list []*sheet) {
	s.TB.Helper()
	rows, err := s.Pool.Query(s.TB.Context(), `
		select c.table_name::text, c.column_name::text, c.udt_name::text, k.column_name is not null
		from information_schema.columns c
		left join information_schema.table_constraints t
		  on t.table_schema = c.table_schema and t.table_name = c.table_name and t.constraint_type = 'PRIMARY KEY'
		left join information_schema.key_column_usage k
		  on k.constraint_schema = t.constraint_schema and k.constraint_name = t.constraint_name and k.column_name = c.column_name
		where c.table_schema = 'projection' and c.table_name not in ('generation', 'position', 'message_count')
		order by c.table_name, c.ordinal_position`)
	if err != nil {
		s.TB.Fatal(err)
	}
	cells, err := pgx.CollectRows(rows, pgx.RowToStructByPos[cell])
	if err != nil {
		s.TB.Fatal(err)
	}
	for _, c := range cells {
		if len(list) == 0 || list[len(list)-1].name != c.Table {
			list = append(list, &sheet{name: c.Table})
		}
		last := list[len(list)-1]
		last.columns = append(last.columns, c)
	}
	return list
}

// other is an expression for another value of a column.
func (c cell) other(tb testing.TB) string {
	tb.Helper()
	forms := map[string]string{
		"uuid":        "gen_random_uuid()",
		"text":        "coalesce(%s, '') || 'x'",
		"int2":        "coalesce(%s, 0) + 1",
		"int4":        "coalesce(%s, 0) + 1",
		"int8":        "coalesce(%s, 0) + 1",
		"float8":      "coalesce(%s, 0) + 0.001",
		"bool":        "not %s",
		"timestamptz": "coalesce(%s, now()) + interval '1 millisecond'",
		"date":        "%s + 1",
		"json":        "(coalesce(%s::text, '[]') || ' ')::json",
		"bytea":       "coalesce(%s, '') || '\\x00'",
		"_uuid":       "array_append(%s, gen_random_uuid())",
	}
	form, ok := forms[c.Type]
	if !ok {
		tb.Fatalf("%s.%s is of type %s", c.Table, c.Name, c.Type)
	}
	if !strings.Contains(form, "%s") {
		return form
	}
	return fmt.Sprintf(form, c.Name)
}

// mustFind holds what verification finds against what it should, and nothing else.
func (s *stage) mustFind(what string, want []rebuild.Change) rebuild.Comparison {
	s.TB.Helper()
	found := s.verify()
	s.mustBe(what, found, want)
	return found
}

func (s *stage) mustBe(what string, found rebuild.Comparison, want []rebuild.Change) {
	s.TB.Helper()
	slices.SortFunc(want, func(a, b rebuild.Change) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	have := slices.SortedFunc(slices.Values(found.Changes), func(a, b rebuild.Change) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	if !slices.Equal(have, want) || len(found.Unreadable) > 0 {
		s.TB.Errorf("%s: found %v and %v, want %v", what, have, found.Unreadable, want)
	}
}

// keep copies every table aside, so that restore can put it back.
func (s *stage) keep(list []*sheet) {
	s.TB.Helper()
	s.Exec("create schema backup")
	for _, t := range list {
		s.Exec(fmt.Sprintf("create table backup.%[1]s as select * from projection.%[1]s", t.name))
	}
}

func (s *stage) restore(list []*sheet) {
	s.TB.Helper()
	var statements []string
	for _, t := range list {
		statements = append(statements, fmt.Sprintf("delete from projection.%[1]s; insert into projection.%[1]s select * from backup.%[1]s", t.name))
	}
	s.Exec(strings.Join(statements, ";"))
}

// damaged is a stage with rows in every table, and its tables.
func damaged(t *testing.T) (*stage, []*sheet) {
	t.Helper()
	s := newStage(t)
	stop := s.StartProjector()
	s.Publish(company(29, 40)...)
	s.WaitUntilCaughtUp()
	stop()
	list := s.sheets()
	for _, sheet := range list {
		if s.QueryInt("select count(*) from projection."+sheet.name) == 0 {
			t.Fatalf("%s is empty", sheet.name)
		}
	}
	return s, list
}

// A wrong value of any column of any table is found and named, and nothing else is.
func TestVerify_EveryColumn(t *testing.T) {
	s, list := damaged(t)
	s.keep(list)
	widest := 0
	for _, sheet := range list {
		widest = max(widest, len(sheet.columns))
	}
	for i := range widest {
		var want []rebuild.Change
		var wrong []*sheet
		systems := make(map[string]string)
		for _, sheet := range list {
			if i >= len(sheet.columns) {
				continue
			}
			wrong = append(wrong, sheet)
			c := sheet.columns[i]
			var system string
			err := s.Pool.QueryRow(t.Context(), fmt.Sprintf(
				"update projection.%[1]s set %[2]s = %[3]s where ctid = (select ctid from projection.%[1]s order by %[2]s is null limit 1) returning %[4]s::text",
				c.Table, c.Name, c.other(t), sheet.columns[0].Name)).Scan(&system)
			if err != nil {
				t.Fatalf("%s.%s: %v", c.Table, c.Name, err)
			}
			if c.Key {
				want = append(want, rebuild.Change{Table: c.Table, Kind: rebuild.KindMissing, Rows: 1}, rebuild.Change{Table: c.Table, Kind: rebuild.KindSurplus, Rows: 1})
				continue
			}
			want = append(want, rebuild.Change{Table: c.Table, Kind: rebuild.KindChanged, Column: c.Name, Rows: 1})
			systems[c.Table] = system
		}
		found := s.mustFind(fmt.Sprintf("column %d", i), want)
		for _, d := range found.Samples {
			if d.Kind != rebuild.KindChanged {
				continue
			}
			if id := d.Key[0].Expected; len(d.Values) != 1 || id != systems[d.Table] {
				t.Errorf("%+v, want a row of %s", d, systems[d.Table])
			}
		}
		s.restore(wrong)
	}
	s.mustVerify("restored")
}

// Rows that are gone, and rows that nobody knows of, are found in every table.
func TestVerify_EveryTable(t *testing.T) {
	s, list := damaged(t)
	s.keep(list)
	each := func(kind rebuild.Kind, statement func(*sheet) string) {
		t.Helper()
		var want []rebuild.Change
		for _, sheet := range list {
			s.Exec(statement(sheet))
			want = append(want, rebuild.Change{Table: sheet.name, Kind: kind, Rows: 1})
		}
		s.mustFind(string(kind), want)
		// Where no two rows may be held at once, nothing else is found.
		config := s.config()
		small(&config)
		found, err := rebuild.Verify(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		s.mustBe(string(kind)+", one at a time", found, want)
		s.restore(list)
	}
	each(rebuild.KindMissing, func(t *sheet) string {
		return fmt.Sprintf("delete from projection.%[1]s where ctid = (select ctid from projection.%[1]s limit 1)", t.name)
	})
	each(rebuild.KindSurplus, func(t *sheet) string { return t.copied(t.columns[0].Name, "gen_random_uuid()") })
	each(rebuild.KindSurplus, func(t *sheet) string {
		keys := slices.DeleteFunc(slices.Clone(t.columns), func(c cell) bool { return !c.Key })
		last := keys[len(keys)-1]
		return t.copied(last.Name, last.other(s.TB))
	})
	s.mustVerify("restored")
}

// copied is a statement that adds a row's copy with another value of a column.
func (t *sheet) copied(column, value string) string {
	var values []string
	for _, c := range t.columns {
		if c.Name == column {
			values = append(values, value)
		} else {
			values = append(values, c.Name)
		}
	}
	return fmt.Sprintf("insert into projection.%[1]s select %[2]s from projection.%[1]s order by %[3]s desc limit 1", t.name, strings.Join(values, ", "), column)
}

// The ledger is held against the stream line by line.
func TestVerify_Ledger(t *testing.T) {
	s, _ := damaged(t)
	one := []rebuild.Change{{Table: "message_count", Kind: rebuild.KindChanged, Column: "counts", Rows: 1}}
	for _, column := range []string{"read", "applied", "stale", "ignored", "dead"} {
		s.Exec(fmt.Sprintf("update projection.message_count set %[1]s = %[1]s + 1 where entity = 'call' and partition = (select min(partition) from projection.message_count)", column))
		s.mustFind(column, one)
		s.Exec(fmt.Sprintf("update projection.message_count set %[1]s = %[1]s - 1 where entity = 'call' and partition = (select min(partition) from projection.message_count)", column))
	}
	s.Exec("insert into projection.message_count values (1, 'fax', 1, 1, 0, 0, 0)")
	s.mustFind("an entity that there isn't", one)
	s.Exec("delete from projection.message_count where entity in ('fax', 'group')")
	s.mustFind("no line", one)
	whole := s.verify()
	if len(whole.Samples) != 1 || whole.Samples[0].Key[1].Expected != string(events.EntityGroup) {
		t.Errorf("%+v", whole.Samples)
	}
	s.rebuild()
	s.mustVerify("rebuilt")
}

// A repair mends all that is about its phone system and touches nobody else's rows.
func TestRepair(t *testing.T) {
	s, list := damaged(t)
	before := s.Database.Projection(t)
	var wrong []uuid.UUID
	for _, sheet := range list {
		last := sheet.columns[len(sheet.columns)-1]
		s.Exec(fmt.Sprintf("update projection.%[1]s set %[2]s = %[3]s where ctid in (select ctid from projection.%[1]s limit 1)", last.Table, last.Name, last.other(t)))
		s.Exec(sheet.copied(sheet.columns[0].Name, "'00000000-0000-4000-8000-000000000001'::uuid"))
		s.Exec(fmt.Sprintf("delete from projection.%[1]s where ctid in (select ctid from projection.%[1]s limit 1)", sheet.name))
	}
	stop := s.StartProjector()
	for _, d := range s.verify().Samples {
		if !slices.Contains(wrong, d.System) {
			wrong = append(wrong, d.System)
		}
	}
	for _, system := range wrong {
		if found := s.verify(system); !found.Differs() {
			t.Errorf("%s alone: nothing found", system)
		}
		result, err := rebuild.Repair(t.Context(), s.config(), system)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.QueryInt("select count(*) from projection.call_log where system_id = $1", system); result.Rows < n {
			t.Errorf("%+v with %d calls", result, n)
		}
		if found := s.verify(system); found.Differs() {
			t.Errorf("%s alone, repaired: %+v", system, found)
		}
	}
	s.RequireEqualTables("repaired", before)
	s.mustVerify("repaired")
	s.Publish(company(30, 60)...)
	s.WaitUntilCaughtUp()
	stop()
	s.mustVerify("the projector goes on")
	after := s.Database.Projection(t)
	if list := s.Replay().Diff(after); len(list) > 0 {
		t.Error(list)
	}
}

// While events arrive at full speed, nothing that is right is called wrong.
func TestVerify_WhileEventsArrive(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	s.Publish(company(31, 50)...)
	s.poison()
	s.WaitUntilCaughtUp()
	stop := s.flood(100)
	for range 4 {
		s.mustVerify("while events arrive")
	}
	stop()
	s.WaitUntilCaughtUp()
	s.mustVerify("afterwards")
}
