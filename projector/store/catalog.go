package store

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/schema"
)

var (
	//go:embed catalog.sql
	catalogSQL string

	//go:embed phone_system_ids.sql
	phoneSystemIDsSQL string
)

// Catalog describes which of the projection's tables and columns a schema has, and how wide the columns are. Another release's schema
// lacks those that are new in this one.
type Catalog struct {
	relations   []relation // of this release
	prefix      string     // of a table's name
	distributed bool       // over the nodes of a Citus cluster
	widths      map[string][]int16
	partitions  int // by which rows are found; 0: no partition was claimed yet, or the tables have none
}

// Column is a column of a table, or with an empty name the whole table.
type Column struct {
	Table, Name string
}

// String implements [fmt.Stringer].
func (c Column) String() string { return strings.TrimSuffix(c.Table+"."+c.Name, ".") }

// ReadCatalog describes the schema of a name; empty: the schema on the connection's search path. It is an error if the schema has none of the
// tables.
func ReadCatalog(ctx context.Context, conn *pgx.Conn, schemaName string) (Catalog, error) {
	c := Catalog{relations: newTables().relations, widths: make(map[string][]int16)}
	if schemaName != "" {
		c.prefix = pgx.Identifier{schemaName}.Sanitize() + "."
	}
	rows, _ := conn.Query(ctx, catalogSQL, c.prefix, append(c.Tables(), "generation"))
	found := make(map[Column]int16)
	var column Column
	var width int16
	_, err := pgx.ForEachRow(rows, []any{&column.Table, &column.Name, &width}, func() error {
		found[column] = width
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("catalog: %w", err)
	}
	for _, r := range c.relations {
		c.add(r, found)
	}
	if len(c.widths) == 0 {
		return c, fmt.Errorf("catalog: schema %q has none of the projection's tables", schemaName)
	}
	if found[Column{"generation", "partitions"}] != 0 { // not in a generation of an earlier release
		err = conn.QueryRow(ctx, fmt.Sprintf("select coalesce(partitions, 0) from %sgeneration", c.prefix)).Scan(&c.partitions)
	}
	if err != nil {
		return c, fmt.Errorf("catalog: %w", err)
	}
	c.distributed, err = schema.IsDistributed(ctx, conn, c.prefix+"position")
	return c, err
}

// add adds a table's widths, 0 for a column that isn't there. A table without the column of the phone system can't be read by phone system,
// and counts as missing.
func (c *Catalog) add(r relation, found map[Column]int16) {
	widths := make([]int16, len(r.columns))
	for i, name := range r.columns {
		widths[i] = found[Column{r.name, name}]
	}
	if widths[r.system()] != 0 {
		c.widths[r.name] = widths
	}
}

// Tables returns the names of the tables whose rows follow from events, whether the schema has them or not.
func (c Catalog) Tables() []string {
	var list []string
	for _, r := range c.relations {
		list = append(list, r.name)
	}
	return list
}

// Missing returns the tables and columns that the schema lacks.
func (c Catalog) Missing() []Column {
	var missing []Column
	for _, r := range c.relations {
		widths, ok := c.widths[r.name]
		if !ok {
			missing = append(missing, Column{Table: r.name})
		}
		for i, width := range widths {
			if width == 0 {
				missing = append(missing, Column{r.name, r.columns[i]})
			}
		}
	}
	return missing
}

// Intersect returns the catalog without the tables and columns that the other one lacks. Partitions are compared where both have equally
// many.
func (c Catalog) Intersect(other Catalog) Catalog {
	both := Catalog{relations: c.relations, prefix: c.prefix, distributed: c.distributed, widths: make(map[string][]int16), partitions: c.partitions}
	for _, r := range c.relations {
		table, widths := r.name, c.widths[r.name]
		others, ok := other.widths[table]
		if !ok || widths == nil {
			continue
		}
		common := slices.Clone(widths)
		if r.partitioned && c.partitions != other.partitions {
			common[0] = 0
		}
		for i := range common {
			if others[i] == 0 {
				common[i] = 0
			}
		}
		both.widths[table] = common
	}
	return both
}

// relation returns the named table, if the schema has it.
func (c Catalog) relation(table string) (relation, bool) {
	i := slices.IndexFunc(c.relations, func(r relation) bool { return r.name == table })
	if i < 0 || c.widths[table] == nil {
		return relation{}, false
	}
	return c.relations[i], true
}

// columns lists the names of a table's columns that the schema has.
func (c Catalog) columns(r relation) string {
	var names []string
	for i, width := range c.widths[r.name] {
		if width != 0 {
			names = append(names, r.columns[i])
		}
	}
	return strings.Join(names, ", ")
}

// PhoneSystemIDs returns the phone systems of which any table has rows, in order. [uuid.Nil] is among them if there are rows that belong
// to no single system. The cost depends on the number of systems, not of rows.
func PhoneSystemIDs(ctx context.Context, conn *pgx.Conn, c Catalog) ([]uuid.UUID, error) {
	if !c.distributed {
		return c.phoneSystemIDs(ctx, conn, "true")
	}
	var all []uuid.UUID
	for n := range max(1, c.partitions) { // each on its node; no partition was claimed where their number is 0
		list, err := c.phoneSystemIDs(ctx, conn, fmt.Sprintf("%s = %d", partitionColumn, n))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(all), nil
}

// phoneSystemIDs returns the phone systems with rows that belong to partitions and meet a condition, or that belong to no partition.
func (c Catalog) phoneSystemIDs(ctx context.Context, conn *pgx.Conn, condition string) ([]uuid.UUID, error) {
	var selections []string
	for _, r := range c.relations {
		if c.widths[r.name] == nil {
			continue
		}
		if r.ofNoSystem() {
			selections = append(selections, fmt.Sprintf("select '%s'::uuid where exists (select from %s%s)", uuid.Nil, c.prefix, r.name))
			continue
		}
		of := condition
		if !r.partitioned {
			of = "true"
		}
		selections = append(selections, fmt.Sprintf(phoneSystemIDsSQL, c.prefix+r.name, r.columns[r.system()], of))
	}
	rows, _ := conn.Query(ctx, strings.Join(selections, " union ")+" order by 1")
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (id uuid.UUID, err error) {
		err = row.Scan((*[16]byte)(&id))
		return id, err
	})
	if err != nil {
		return nil, fmt.Errorf("phone systems: %w", err)
	}
	return list, nil
}

// hasPartitions tells whether the rows of a table are found by partition.
func (c Catalog) hasPartitions(r relation) bool { return r.partitioned && c.partitions > 0 }

// isCopied tells whether each node has a copy of a table.
func (c Catalog) isCopied(r relation) bool {
	return c.distributed && !r.partitioned && c.partitions > 0
}
