package schema

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// indexedTables keep their indexes: they are small, and written by key while a generation is filled.
const indexedTables = "'generation', 'position', 'message_count'"

// DropIndexes drops the keys and indexes of the large tables: rows are copied faster without them.
func (g Generation) DropIndexes(ctx context.Context, tx pgx.Tx) error {
	statements, err := lines(ctx, tx, fmt.Sprintf(`
		select format('alter table %%s drop constraint %%I', conrelid::regclass, conname)
		from pg_constraint c
		join pg_class t on t.oid = conrelid
		where connamespace = '%[1]s'::regnamespace and contype in ('p', 'u') and relname not in (%[2]s)
		union all
		select format('drop index %%s', indexrelid::regclass)
		from pg_index i
		join pg_class t on t.oid = indrelid
		where relnamespace = '%[1]s'::regnamespace and relname not in (%[2]s)
		  and not exists (select from pg_constraint where conindid = indexrelid)`, g.Schema(), indexedTables))
	if err != nil {
		return err
	}
	return execute(ctx, tx, statements)
}

// MissingIndexes returns the statements that create the missing keys and indexes. Each must be executed with the generation's schema on
// the search path.
func (g Generation) MissingIndexes(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("indexes: %w", err)
	}
	// The wanted indexes are those of a temporary copy of the tables, which is rolled back.
	defer func() { _ = tx.Rollback(ctx) }()
	pattern := g.Schema() + "_pattern"
	err = execute(ctx, tx, []string{"create schema " + pattern, "set local search_path to " + pattern, projectionDDL()})
	if err != nil {
		return nil, err
	}
	return lines(ctx, tx, fmt.Sprintf(`
		select case
		  when c.oid is null then pg_get_indexdef(indexrelid, 0, true)
		  else format('alter table %%I add constraint %%I %%s', t.relname, conname, pg_get_constraintdef(c.oid))
		end
		from pg_index
		join pg_class t on t.oid = indrelid
		join pg_class i on i.oid = indexrelid
		left join pg_constraint c on conindid = indexrelid
		where t.relnamespace = '%s'::regnamespace
		  and to_regclass(format('%s.%%I', i.relname)) is null
		order by c.oid is null, t.relname, i.relname`, pattern, g.Schema()))
}

func lines(ctx context.Context, tx pgx.Tx, query string) ([]string, error) {
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("indexes: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("indexes: %w", err)
	}
	return list, nil
}
