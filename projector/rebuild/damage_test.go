package rebuild_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
	"callboard/schema/schematest"
)

// table is a table of the projection as the catalog describes it.
type table struct {
	name    string
	columns []column
}

type column struct {
	Table, Name, Type string
	Key               bool
}

// damageHarness has rows in every table, and no projector.
type damageHarness struct {
	*harness
	tables []*table // without those whose rows do not follow from events
}

func newDamageHarness(t *testing.T) *damageHarness {
	t.Helper()
	applied := newStoppedHarness(t, extensionsLast(sampleEvents(29, 40)))
	h := &damageHarness{harness: applied}
	rows, _ := h.Pool.Query(t.Context(), `
		select c.table_name::text, c.column_name::text, c.udt_name::text, k.column_name is not null
		from information_schema.columns c
		left join information_schema.table_constraints t
		  on t.table_schema = c.table_schema and t.table_name = c.table_name and t.constraint_type = 'PRIMARY KEY'
		left join information_schema.key_column_usage k
		  on k.constraint_schema = t.constraint_schema and k.constraint_name = t.constraint_name and k.column_name = c.column_name
		where c.table_schema = 'projection' and c.table_name not in ('generation', 'position', 'message_count')
		order by c.table_name, c.column_name = $1, c.ordinal_position`, partitionColumn)
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		if len(h.tables) == 0 || h.tables[len(h.tables)-1].name != c.Table {
			h.tables = append(h.tables, &table{name: c.Table})
		}
		last := h.tables[len(h.tables)-1]
		last.columns = append(last.columns, c)
	}
	h.Exec("create schema backup")
	for _, table := range h.tables {
		if h.QueryInt("select count(*) from projection."+table.name) == 0 {
			t.Fatalf("%s is empty", table.name)
		}
		h.Exec(fmt.Sprintf("create table backup.%[1]s as select * from projection.%[1]s", table.name))
	}
	return h
}

// extensionsLast moves the events of extensions after all others, so that calls refer to them before they are there.
func extensionsLast(list []events.Event) []events.Event {
	var extensions, others []events.Event
	for _, e := range list {
		if e.Entity == events.EntityExtension {
			extensions = append(extensions, e)
		} else {
			others = append(others, e)
		}
	}
	return append(others, extensions...)
}

// partitionColumn is the last column of a table here. A row with the partition of another phone system is out of reach of every statement: it
// is missing where it should be.
const partitionColumn = "partition"

// restore undoes all changes of tables.
func (h *damageHarness) restore(tables []*table) {
	h.Helper()
	var statements []string
	for _, t := range tables {
		statements = append(statements, fmt.Sprintf("delete from projection.%[1]s; insert into projection.%[1]s select * from backup.%[1]s", t.name))
	}
	h.Exec(strings.Join(statements, ";"))
}

// otherValue is an expression for another value of the column than a row has.
func (c column) otherValue(tb testing.TB) string {
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
		tb.Fatalf("%s.%s: no other value for type %s", c.Table, c.Name, c.Type)
	}
	if !strings.Contains(form, "%s") {
		return form
	}
	return fmt.Sprintf(form, c.Name)
}

// keys are the names of the columns of the primary key.
func (t *table) keys() (names []string) {
	for _, c := range t.columns {
		if c.Key {
			names = append(names, c.Name)
		}
	}
	return names
}

// highest selects one row: the one with the highest value of a column, so that the other value of a key column is not another row's.
// Rows with the same value are ordered by key.
func (t *table) highest(selected string, c column) string {
	order := c.Name
	if c.Type == "json" {
		order += "::text"
	}
	return fmt.Sprintf("select %[1]s from projection.%[2]s order by %[3]s is null, %[4]s desc, %[5]s limit 1",
		selected, t.name, c.Name, order, strings.Join(t.keys(), ", "))
}

// change is a statement that changes a column of one row and returns the first column.
func (t *table) change(tb testing.TB, c column) string {
	tb.Helper()
	set := c.Name + " = " + c.otherValue(tb)
	if c == t.columns[0] {
		set = ""
		for name, value := range t.of(uuid.New()) {
			set = strings.TrimPrefix(set+", "+name+" = "+value, ", ")
		}
	}
	return fmt.Sprintf("update projection.%s set %s where ctid = (%s) returning %s::text", t.name, set, t.highest("ctid", c), t.columns[0].Name)
}

// remove is a statement that deletes one row.
func (t *table) remove() string {
	return fmt.Sprintf("delete from projection.%s where ctid = (%s)", t.name, t.highest("ctid", t.columns[0]))
}

// last is the last column that is not the partition, of the key or of all.
func (t *table) last(ofKey bool) (last column) {
	for _, c := range t.columns {
		if c.Name != partitionColumn && (c.Key || !ofKey) {
			last = c
		}
	}
	return last
}

// duplicateFor is a statement that inserts a copy of one row for another phone system, or of another group.
func (t *table) duplicateFor(id uuid.UUID) string {
	return t.duplicate(t.columns[0], t.of(id))
}

// of are the values of the columns that say of which phone system a row is, or of which group.
func (t *table) of(id uuid.UUID) map[string]string {
	values := map[string]string{t.columns[0].Name: "'" + id.String() + "'::uuid"}
	if t.columns[len(t.columns)-1].Name == partitionColumn {
		values[partitionColumn] = strconv.Itoa(events.Partition(id, projectortest.Partitions))
	}
	return values
}

// duplicate is a statement that inserts a copy of one row with other values of some columns.
func (t *table) duplicate(c column, changed map[string]string) string {
	var names, values []string
	for _, other := range t.columns {
		names = append(names, other.Name)
		values = append(values, cmp.Or(changed[other.Name], other.Name))
	}
	return fmt.Sprintf("insert into projection.%s (%s) %s", t.name, strings.Join(names, ", "), t.highest(strings.Join(values, ", "), c))
}

// requireChanges verifies the projection and compares the changes found.
func (h *damageHarness) requireChanges(what string, want []rebuild.Change) rebuild.Comparison {
	h.Helper()
	result := h.verify()
	h.compareChanges(what, result, want)
	return result
}

func (h *damageHarness) compareChanges(what string, result rebuild.Comparison, want []rebuild.Change) {
	h.Helper()
	compare := func(a, b rebuild.Change) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	slices.SortFunc(want, compare)
	got := slices.SortedFunc(slices.Values(result.Changes), compare)
	if !slices.Equal(got, want) || len(result.Unreadable) > 0 {
		h.Errorf("%s: changes = %v, unreadable = %v, want %v and none", what, got, result.Unreadable, want)
	}
}

// One key column of each table is changed at a time. The other columns of a table are changed together if their index has a bit: the set of
// bits is different for every column, so a difference that names the wrong column is found.
func TestVerify_FindsWrongValueInEveryColumn(t *testing.T) {
	schematest.NeedOneServer(t, "it changes rows by their place")
	t.Parallel()
	h := newDamageHarness(t)
	var rounds []func(t *table, i int) bool
	most := 0
	for _, table := range h.tables {
		most = max(most, len(table.keys()))
	}
	for n := range most {
		rounds = append(rounds, func(t *table, i int) bool { return t.columns[i].Key && slices.Index(t.keys(), t.columns[i].Name) == n })
	}
	for bit := range 6 {
		rounds = append(rounds, func(t *table, i int) bool { return !t.columns[i].Key && (i+1)>>bit&1 == 1 })
	}
	changed := make(map[string]bool)
	for _, selects := range rounds {
		var want []rebuild.Change
		var damaged []*table
		systems := make(map[string][]string)
		for _, table := range h.tables {
			damaged = append(damaged, table)
			for i, c := range table.columns {
				if !selects(table, i) {
					continue
				}
				changed[c.Table+"."+c.Name] = true
				systems[c.Table] = append(systems[c.Table], projectortest.QueryOne[string](h.Harness, table.change(t, c)))
				if !c.Key {
					want = append(want, rebuild.Change{Table: c.Table, Kind: rebuild.KindChanged, Column: c.Name, Rows: 1})
					continue
				}
				want = append(want, rebuild.Change{Table: c.Table, Kind: rebuild.KindMissing, Rows: 1})
				if c.Name != partitionColumn {
					want = append(want, rebuild.Change{Table: c.Table, Kind: rebuild.KindSurplus, Rows: 1})
				}
			}
		}
		for _, d := range h.requireChanges("wrong values", want).Samples {
			if d.Kind == rebuild.KindChanged && !slices.ContainsFunc(d.Key, func(v rebuild.Value) bool { return slices.Contains(systems[d.Table], v.Expected) }) {
				t.Errorf("sample = %+v, want one of %v", d, systems[d.Table])
			}
		}
		h.restore(damaged)
	}
	for _, table := range h.tables {
		for _, c := range table.columns {
			if !changed[c.Table+"."+c.Name] {
				t.Errorf("%s.%s was not changed", c.Table, c.Name)
			}
		}
	}
	h.requireVerified("restored")
}

func TestVerify_FindsMissingAndSurplusRowsInEveryTable(t *testing.T) {
	schematest.NeedOneServer(t, "it changes rows by their place")
	t.Parallel()
	h := newDamageHarness(t)
	each := func(kind rebuild.Kind, statement func(*table) string) {
		t.Helper()
		var want []rebuild.Change
		for _, table := range h.tables {
			h.Exec(statement(table))
			want = append(want, rebuild.Change{Table: table.name, Kind: kind, Rows: 1})
		}
		h.requireChanges(string(kind), want)
		// With memory for one row at a time, the result is the same.
		config := h.config()
		smallParts(&config)
		result, err := rebuild.Verify(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		h.compareChanges(string(kind)+", one row at a time", result, want)
		h.restore(h.tables)
	}
	each(rebuild.KindMissing, (*table).remove)
	each(rebuild.KindSurplus, func(t *table) string { return t.duplicateFor(uuid.New()) })
	each(rebuild.KindSurplus, func(table *table) string {
		last := table.last(true)
		if last == table.columns[0] {
			return table.duplicateFor(uuid.New())
		}
		return table.duplicate(last, map[string]string{last.Name: last.otherValue(t)})
	})
	h.requireVerified("restored")
}

func TestVerify_FindsWrongMessageCounts(t *testing.T) {
	t.Parallel()
	h := newDamageHarness(t)
	want := map[string]string{"fax": "an unknown entity", string(events.EntityGroup): "a missing row"}
	partition := h.QueryInt("select min(partition)::bigint from projection.message_count where entity = 'call'")
	columns := []string{"read", "applied", "stale", "ignored", "dead", "conflicting"}
	entities := projectortest.Query[string](h.Harness,
		"select entity from projection.message_count where partition = $1 and entity <> $2 order by 1", partition, events.EntityGroup)
	if len(entities) < len(columns) {
		t.Fatalf("entities of partition %d = %v, want one for each column", partition, entities)
	}
	for i, column := range columns {
		want[entities[i]] = column
		h.Exec(fmt.Sprintf("update projection.message_count set %[1]s = %[1]s + 1 where partition = $1 and entity = $2", column), partition, entities[i])
	}
	h.Exec("insert into projection.message_count values (1, 'fax', 1, 1, 0, 0, 0)")
	h.Exec("delete from projection.message_count where entity = $1", events.EntityGroup)
	result := h.requireChanges("wrong counts", []rebuild.Change{
		{Table: "message_count", Kind: rebuild.KindChanged, Column: "counts", Rows: int64(len(want))},
	})
	for _, d := range result.Samples {
		delete(want, d.Key[1].Expected)
	}
	for entity, what := range want {
		t.Errorf("wrong count of entity %s (%s) was not found in %+v", entity, what, result.Samples)
	}
	h.rebuild()
	h.requireVerified("rebuilt")
}

func TestRepair_RestoresRowsOfOneSystem(t *testing.T) {
	t.Parallel()
	h := newDamageHarness(t)
	want := h.Database.Projection(t)
	for _, table := range h.tables {
		h.Exec(table.change(t, table.last(false)))
		h.Exec(table.duplicateFor(uuid.MustParse("00000000-0000-4000-8000-000000000001")))
		h.Exec(table.remove())
	}
	stop := h.StartProjector()
	config := h.config()
	config.NoAnnounce = true // so that all rows come to be what they were
	var damaged []uuid.UUID
	for _, d := range h.verify().Samples {
		if !slices.Contains(damaged, d.System) {
			damaged = append(damaged, d.System)
		}
	}
	if len(damaged) < 2 {
		t.Fatalf("damaged phone systems = %d, want several", len(damaged))
	}
	if first := damaged[0]; !h.verify(first).Differs() {
		t.Errorf("%s before its repair: verified", first)
	}
	for i, system := range damaged {
		result, err := rebuild.Repair(t.Context(), config, system, 0)
		if err != nil {
			t.Fatal(err)
		}
		if calls := h.QueryInt("select count(*) from projection.call_log where system_id = $1", system); result.Rows < calls {
			t.Errorf("rows = %d, want at least the %d calls", result.Rows, calls)
		}
		if i > 0 {
			continue
		}
		// A verification of one phone system does not report the others, which are still damaged.
		if result := h.verify(system); result.Differs() {
			t.Errorf("%s after its repair: %+v", system, result)
		}
	}
	h.RequireEqualTables("repaired", want)
	h.requireVerified("repaired")
	h.Publish(sampleEvents(30, 60)...)
	h.WaitUntilCaughtUp()
	stop()
	h.requireVerified("the projector continued")
	h.RequireReplayEquals(h.Database.Projection(t))
}

// Readers notice a repair by the epoch of their phone system's partition. The global classifications are in the directory of every phone
// system.
func TestRepair_RaisesEpochs(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(29, 40))
	systems, err := h.systems()
	if err != nil || len(systems) == 0 {
		t.Fatalf("phone systems = %d, %v, want some", len(systems), err)
	}
	for _, c := range []struct {
		system uuid.UUID
		where  string
	}{
		{systems[0], fmt.Sprintf("partition = (select partition from projection.phone_system where id = '%s')", systems[0])},
		{uuid.Nil, "true"},
	} {
		const sum = "select coalesce(sum(epoch), 0)::bigint from projection.position where "
		partitions := h.QueryInt("select count(*) from projection.position where " + c.where)
		before, others := h.QueryInt(sum+c.where), h.QueryInt(sum+"not "+c.where)
		if _, err := rebuild.Repair(t.Context(), h.config(), c.system, 0); err != nil {
			t.Fatal(err)
		}
		if got := h.QueryInt(sum+c.where) - before; got != partitions {
			t.Errorf("%s: epochs raised by %d, want one for each of %d partitions", c.system, got, partitions)
		}
		if got := h.QueryInt(sum + "not " + c.where); got != others {
			t.Errorf("%s: epochs of other partitions = %d, want %d as before", c.system, got, others)
		}
	}
}

// systems returns the phone systems.
func (h *harness) systems() ([]uuid.UUID, error) {
	rows, _ := h.Pool.Query(h.Context(), "select id::text from projection.phone_system order by id")
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (id uuid.UUID, err error) {
		var text string
		if err = row.Scan(&text); err == nil {
			id, err = uuid.Parse(text)
		}
		return id, err
	})
}
