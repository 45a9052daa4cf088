package store

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed shape.sql
var shapeSQL string

// Shape is which of the tables and columns there are in a schema, and how wide. Another release's lacks what is new in this one.
type Catalog struct {
	prefix string // of a table's name
	widths map[string][]int16
}

// Column is a column of a table, or with an empty name the whole table.
type Column struct {
	Table, Name string
}

// String is the column behind its table and a dot.
func (c Column) String() string { return strings.TrimSuffix(c.Table+"."+c.Name, ".") }

// ReadShape reads the catalog for a schema, or where that is empty for what conn finds on its search path. It is an error if none
// of the tables is there.
func ReadCatalog(ctx context.Context, conn *pgx.Conn, schema string) (Catalog, error) {
	s := Catalog{widths: make(map[string][]int16)}
	if schema != "" {
		s.prefix = pgx.Identifier{schema}.Sanitize() + "."
	}
	result, err := conn.Query(ctx, shapeSQL, s.prefix, Tables())
	if err != nil {
		return s, fmt.Errorf("shape: %w", err)
	}
	found := make(map[Column]int16)
	var c Column
	var width int16
	_, err = pgx.ForEachRow(result, []any{&c.Table, &c.Name, &width}, func() error {
		found[c] = width
		return nil
	})
	if err != nil {
		return s, fmt.Errorf("shape: %w", err)
	}
	for _, r := range relations() {
		s.add(r, found)
	}
	if len(s.widths) == 0 {
		return s, fmt.Errorf("shape: %q has none of the projection's tables", schema)
	}
	return s, nil
}

// add keeps a table's widths, 0 for a column that isn't there. A table that doesn't say whose its rows are can't be selected from.
func (s *Catalog) add(r relation, found map[Column]int16) {
	widths := make([]int16, len(r.columns))
	for i, name := range r.columns {
		widths[i] = found[Column{r.name, name}]
	}
	if widths[0] != 0 {
		s.widths[r.name] = widths
	}
}

// Missing are the tables and columns that aren't there.
func (s Catalog) Missing() []Column {
	var list []Column
	for _, r := range relations() {
		widths, ok := s.widths[r.name]
		if !ok {
			list = append(list, Column{Table: r.name})
		}
		for i, width := range widths {
			if width == 0 {
				list = append(list, Column{r.name, r.columns[i]})
			}
		}
	}
	return list
}

// has are those of the tables that are there.
func (s Catalog) has(tables []string) []relation {
	return slices.DeleteFunc(selected(tables), func(r relation) bool { return s.widths[r.name] == nil })
}

// present are the names of a table's columns that are there, as a statement lists them.
func (s Catalog) present(r relation) string {
	var list []string
	for i, width := range s.widths[r.name] {
		if width != 0 {
			list = append(list, r.columns[i])
		}
	}
	return strings.Join(list, ", ")
}
