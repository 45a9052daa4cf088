package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Stored are the rows of some tables that belong to some phone systems, [uuid.Nil] standing for what belongs to none. A table's rows
// come in no particular order. Tables are read one after the other, so that conn is best in a transaction with a snapshot. While
// rows come, conn is busy. Whoever stops early waits for the rest of that table. It ends at an error.
func StoredRows(ctx context.Context, conn *pgx.Conn, shape Catalog, tables []string, systems []uuid.UUID) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range shape.has(tables) {
			statement, some := shape.selection(r, systems)
			if !some {
				continue
			}
			w := &copyOut{framing: newFraming(r, shape), yield: yield}
			_, err := conn.PgConn().CopyTo(ctx, w, statement)
			if err == nil {
				err = w.whole()
			}
			if w.stopped {
				return
			}
			if err != nil {
				yield(Row{}, fmt.Errorf("%s: %w", r.name, err))
				return
			}
		}
	}
}

// selection is the statement that copies the systems' rows out of a table; some is whether there can be any.
func (s Catalog) selection(r relation, systems []uuid.UUID) (statement string, some bool) {
	if r.global() {
		return fmt.Sprintf("copy (select %s from %s%s) to stdout (format binary)", s.present(r), s.prefix, r.name),
			slices.Contains(systems, uuid.Nil)
	}
	list := make([]string, len(systems))
	for i, id := range systems {
		list[i] = id.String()
	}
	return fmt.Sprintf("copy (select %s from %s%s where %s = any ('{%s}'::uuid[])) to stdout (format binary)",
		s.present(r), s.prefix, r.name, r.columns[0], strings.Join(list, ",")), len(systems) > 0
}
