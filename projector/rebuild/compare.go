package rebuild

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/schema"
)

var (
	//go:embed comparable.sql
	comparableSQL string

	//go:embed count_differences.sql
	countDifferencesSQL string

	//go:embed changed_systems.sql
	changedSystemsSQL string

	//go:embed list_differences.sql
	listDifferencesSQL string

	//go:embed snapshot.sql
	snapshotSQL string
)

// maxListed is how many differences of a table are listed.
const maxListed = 20

// comparer compares the live rows with the rows that a loader has built from the stream. PostgreSQL does it, in one
// snapshot of both.
type comparer struct {
	config Config
	loader *loader
	schema string        // of the rows that the loader has built
	system uuid.NullUUID // whose rows are compared; none: all are

	changed []uuid.UUID // phone systems whose reports show other values than the live ones
	pause   Seconds     // in which the snapshot was taken
	result  Comparison
}

// run takes the snapshot in a write pause, in which both generations reach the same positions, and compares the rows
// after it.
func (c *comparer) run(ctx context.Context) (found Comparison, err error) {
	err = withConn(ctx, c.config.Database, func(conn *pgx.Conn) (err error) {
		pause, err := c.loader.pauseWrites(ctx, beginWritePause, func(pgx.Tx) error { return c.takeSnapshot(ctx, conn) })
		defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), "rollback") }()
		if err != nil {
			return err
		}

		// From now on, the loader records which phone systems have calls that are newer than the snapshot.
		c.pause = Seconds(pause.Seconds())
		c.loader.touched = make(map[uuid.UUID]struct{})
		return c.compare(ctx, conn)
	})
	return c.result, err
}

// takeSnapshot begins a transaction whose snapshot has the positions of the write pause.
func (c *comparer) takeSnapshot(ctx context.Context, conn *pgx.Conn) error {
	_, _ = conn.Exec(ctx, "rollback") // of an attempt before
	for _, sql := range []string{
		"begin isolation level repeatable read read only",
		schema.OneSessionPerNode,
		fmt.Sprintf(snapshotSQL, c.schema),
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("take a snapshot: %w", err)
		}
	}
	return nil
}

// compare compares all tables on a connection.
func (c *comparer) compare(ctx context.Context, conn *pgx.Conn) error {
	tables, err := c.tables(ctx, conn)
	if err != nil {
		return err
	}

	if _, c.result.OtherDefinition, err = liveGeneration(ctx, conn); err != nil {
		return err
	}

	// JSON shows empty lists, not null.
	c.result.Changes, c.result.Samples, c.result.MissingColumns = []Change{}, []Difference{}, []string{}
	for i, t := range tables {
		c.config.Progress(Progress{Step: StepCompare, Done: int64(i), Total: int64(len(tables))})
		if err := c.compareTable(ctx, conn, t); err != nil {
			return fmt.Errorf("compare %s: %w", t.Name, err)
		}
	}

	// A phone system can have changed rows in several tables.
	slices.SortFunc(c.changed, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	c.changed = slices.Compact(c.changed)
	c.result.ChangedSystems = len(c.changed)
	return nil
}

// comparedTable is a table of a generation, with the columns that the live one has, too.
type comparedTable struct {
	Name    string
	Columns []string
	Key     []string // of the columns
	JSON    []string // as Key
	Missing []string // columns that the live table lacks, or has with another type
}

// tables returns the tables of the built generation that are compared.
func (c *comparer) tables(ctx context.Context, conn *pgx.Conn) ([]comparedTable, error) {
	rows, _ := conn.Query(ctx, comparableSQL, c.schema)
	tables, err := pgx.CollectRows(rows, pgx.RowToStructByPos[comparedTable])
	if err != nil {
		return nil, fmt.Errorf("tables: %w", err)
	}
	if c.system.Valid {
		tables = slices.DeleteFunc(tables, func(t comparedTable) bool { return !t.has(c.system.UUID) })
	}
	return tables, nil
}

// has tells whether rows of a phone system can be in the table. [uuid.Nil] stands for what belongs to no single phone
// system.
func (t comparedTable) has(system uuid.UUID) bool {
	if t.ofGroups() {
		return system == uuid.Nil
	}
	return t.systemColumn() != ""
}

// ofGroups tells whether the table's rows follow from the events of groups. A group's members are phone systems.
func (t comparedTable) ofGroups() bool { return strings.HasPrefix(t.Name, "phone_system_group") }

// systemColumn is the column of the phone system to which a row belongs; empty: it belongs to none.
func (t comparedTable) systemColumn() string {
	switch {
	case t.Name == "phone_system":
		return "id"
	case !t.ofGroups() && slices.Contains(t.Columns, "system_id"):
		return "system_id"
	}
	return ""
}

// shown tells whether reports show values of the table.
func (t comparedTable) shown() bool {
	return slices.Contains([]string{"call_log", "transcript", "transcript_text", "topology", "representative"}, t.Name)
}

// compareTable counts the rows of a table that differ, and lists the first ones.
func (c *comparer) compareTable(ctx context.Context, conn *pgx.Conn, t comparedTable) error {
	for _, column := range t.Missing {
		c.result.MissingColumns = append(c.result.MissingColumns, t.Name+"."+column)
	}
	if len(t.Key) == 0 {
		return nil // the live generation lacks the table, or its key
	}
	statement := c.statement(t)

	var missing, surplus, changed, rows int64
	err := conn.QueryRow(ctx, statement.Replace(countDifferencesSQL), statement.arguments...).Scan(&rows, &missing,
		&surplus, &changed)
	if err != nil {
		return err
	}

	c.result.Rows += rows
	for _, change := range []Change{{t.Name, KindMissing, missing}, {t.Name, KindSurplus, surplus}, {t.Name, KindChanged, changed}} {
		if change.Rows > 0 {
			c.result.Changes = append(c.result.Changes, change)
		}
	}

	if missing+surplus+changed == 0 {
		return nil
	}

	// The calls of these phone systems get a later updatedAt, so that clients read the calls again.
	if t.shown() {
		rows, _ := conn.Query(ctx, statement.Replace(changedSystemsSQL), statement.arguments...)
		systems, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
		if err != nil {
			return err
		}
		for _, system := range systems {
			c.changed = append(c.changed, system)
		}
	}

	return c.list(ctx, conn, t, statement)
}

// list lists the first rows of a table that differ.
func (c *comparer) list(ctx context.Context, conn *pgx.Conn, t comparedTable, s statement) error {
	rows, _ := conn.Query(ctx, s.Replace(listDifferencesSQL), s.arguments...)
	var served, expected []*string
	var isServed, isExpected bool
	_, err := pgx.ForEachRow(rows, []any{&isServed, &isExpected, &served, &expected}, func() error {
		c.result.Samples = append(c.result.Samples, t.difference(isServed, isExpected, served, expected))
		return nil
	})
	return err
}

// difference describes a row that differs by the texts of its values.
func (t comparedTable) difference(isServed, isExpected bool, served, expected []*string) Difference {
	d := Difference{Table: t.Name, Kind: KindChanged}

	// A surplus row has no expected values, so its key comes from the served values.
	known := expected
	switch {
	case !isServed:
		d.Kind = KindMissing
	case !isExpected:
		d.Kind, known = KindSurplus, served
	}

	for i, column := range t.Columns {
		switch {
		case column == "partition" && t.systemColumn() != "": // it follows from the phone system
		case column == t.systemColumn():
			d.System, _ = uuid.Parse(text(known[i])) // PostgreSQL's own text of a UUID
		case slices.Contains(t.Key, column):
			d.Key = append(d.Key, Value{Column: column, Expected: text(known[i])})
		case d.Kind == KindChanged && text(served[i]) != text(expected[i]):
			d.Values = append(d.Values, Value{column, text(served[i]), text(expected[i])})
		}
	}
	return d
}

// text is a value for people.
func text(value *string) string {
	if value == nil {
		return "null"
	}
	return *value
}

// statement fills in the templates of the comparison. It has their parameters.
type statement struct {
	*strings.Replacer
	arguments []any
}

func (c *comparer) statement(t comparedTable) statement {
	// Listed values are shortened; the comparison uses whole values.
	var differ, served, expected []string
	for _, column := range t.Columns {
		live, built := qualified("l", column), qualified("n", column)
		served, expected = append(served, shortened(live)), append(expected, shortened(built))
		if slices.Contains(t.JSON, column) { // json has no equality, and its bytes are served
			live, built = live+"::text", built+"::text"
		}
		differ = append(differ, fmt.Sprintf("%s is distinct from %s", live, built))
	}

	// A row can be missing on either side, so the order takes its key from the side that has the row.
	var joined, order []string
	for _, column := range t.Key {
		live, built := qualified("l", column), qualified("n", column)
		joined = append(joined, live+" = "+built)
		order = append(order, fmt.Sprintf("coalesce(%s, %s)", built, live))
	}

	system, announced := "null::uuid", "true"
	if column := t.systemColumn(); column != "" {
		system = fmt.Sprintf("coalesce(%s, %s)", qualified("n", column), qualified("l", column))
	}

	// Some differences change nothing that reports show.
	switch {
	case t.Name == "call_log":
		announced = qualified("n", t.Key[0]) + " is not null" // that a call is gone is not reported
	case t.Name == "topology" && slices.Contains(t.Key, "kind"):
		announced = "coalesce(n.kind, l.kind) in ('extension', 'call-group')" // reports show no others
	}

	where, arguments := c.where(t)
	return statement{strings.NewReplacer(
		"{live}", pgx.Identifier{liveSchema, t.Name}.Sanitize(), "{built}", pgx.Identifier{c.schema, t.Name}.Sanitize(),
		"{where}", where,
		"{live key}", qualified("l", t.Key[0]), "{built key}", qualified("n", t.Key[0]),
		"{joined}", strings.Join(joined, " and "), "{differ}", strings.Join(differ, "\n  or "), "{order}",
		strings.Join(order, ", "),
		"{system}", system, "{announced}", announced,
		"{served}", strings.Join(served, ", "), "{expected}", strings.Join(expected, ", "), "{limit}",
		strconv.Itoa(maxListed),
	), arguments}
}

func qualified(table, column string) string { return pgx.Identifier{table, column}.Sanitize() }

// where is the condition of the rows that are compared.
func (c *comparer) where(t comparedTable) (condition string, arguments []any) {
	column := t.systemColumn()
	if !c.system.Valid || column == "" {
		return "true", nil
	}

	condition = pgx.Identifier{column}.Sanitize() + " = $1"
	arguments = []any{schema.UUID(c.system.UUID)}
	if slices.Contains(t.Columns, "partition") {
		condition, arguments = condition+" and partition = $2", append(arguments, c.loader.source.partition(c.system.UUID))
	}
	return condition, arguments
}

// shortened is the text of a value for people. A long one is told apart by its digest.
func shortened(value string) string {
	return fmt.Sprintf("case when length(%[1]s::text) > 200 then left(%[1]s::text, "+
		"100) || '… (MD5 ' || md5(%[1]s::text) || ')' else %[1]s::text end", value)
}
