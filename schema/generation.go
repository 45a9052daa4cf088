package schema

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Generation is one build of the projection. The live one is in the schema "projection", every other one in its own schema.
type Generation struct {
	ID int64
}

// Schema returns the name of the generation's schema while it is not live.
func (g Generation) Schema() string { return fmt.Sprintf("generation_%d", g.ID) }

// NewGeneration creates a generation with this release's definition: empty tables and their indexes. partitions is the number of partitions
// of the stream that fills it; 0: that of the first stream that a projector claims.
func NewGeneration(ctx context.Context, tx pgx.Tx, partitions int) (Generation, error) {
	var g Generation
	err := tx.QueryRow(ctx, "insert into control.generation (definition) values ($1) returning id", Definition()).Scan(&g.ID)
	if err != nil {
		return g, fmt.Errorf("generation: %w", err)
	}
	steps := []string{
		"create schema " + g.Schema(),
		"set local search_path to " + g.Schema(),
		projectionDDL(),
		fmt.Sprintf("insert into generation (id, definition, partitions) values (%d, '\\x%x', nullif(%d, 0))", g.ID, Definition(), partitions),
	}
	if err := execute(ctx, tx, steps); err != nil {
		return g, err
	}
	if err := distribute(ctx, tx, g.Schema()); err != nil {
		return g, err
	}
	return g, grantOn(ctx, tx, g.Schema())
}

// MakeLive makes the generation the live one. There must be no live generation.
func (g Generation) MakeLive(ctx context.Context, tx pgx.Tx) error {
	err := execute(ctx, tx, []string{
		fmt.Sprintf("alter schema %s rename to projection", g.Schema()),
		fmt.Sprintf("update control.generation set state = 'live', switched_at = now() where id = %d", g.ID),
	})
	if err != nil {
		return err
	}
	return grantLive(ctx, tx)
}

// grantLive grants the roles their rights on the live generation. One that a release with fewer roles built lacks some.
func grantLive(ctx context.Context, tx pgx.Tx) error { return grantOn(ctx, tx, "projection") }

func grantOn(ctx context.Context, tx pgx.Tx, name string) error {
	distributed, err := IsDistributed(ctx, tx, name+".position")
	if err != nil {
		return err
	}
	column := "(partitions)" // the only one that a projector writes
	if distributed {
		column = "" // Citus has no rights on columns
	}
	return execute(ctx, tx, []string{fmt.Sprintf(projectionGrantsSQL, name, column)})
}

// MakePrevious makes the live generation the previous one, for a rollback.
func (g Generation) MakePrevious(ctx context.Context, tx pgx.Tx) error {
	return execute(ctx, tx, []string{
		"alter schema projection rename to " + g.Schema(),
		fmt.Sprintf("update control.generation set state = 'previous' where id = %d", g.ID),
	})
}

// Drop drops a generation that is not live. If it never was, its dead letters are dropped too: no other generation knows them.
func (g Generation) Drop(ctx context.Context, tx pgx.Tx) error {
	return execute(ctx, tx, []string{
		fmt.Sprintf("drop schema if exists %s cascade", g.Schema()),
		fmt.Sprintf("delete from control.generation_part where generation = %d", g.ID),
		fmt.Sprintf("delete from control.dead_letter d where generation = %d and exists (select from control.generation where id = d.generation and switched_at is null)", g.ID),
		fmt.Sprintf("update control.generation set state = 'dropped' where id = %d", g.ID),
	})
}

// indexedTables keep their indexes: they are small, and written by key while a generation is filled.
const indexedTables = "'generation', 'position', 'message_count'"

// DropIndexes drops the keys and indexes of the large tables: rows are copied faster without them.
func (g Generation) DropIndexes(ctx context.Context, tx pgx.Tx) error {
	statements, err := queryStatements(ctx, tx, fmt.Sprintf(`
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

// MissingIndexes returns the statements that create the missing keys and indexes: the keys first, which lock their tables, and those of the
// largest tables first. Each must be executed with the generation's schema on the search path.
func (g Generation) MissingIndexes(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	// The wanted indexes are those of a temporary copy of the tables, which is rolled back.
	defer func() { _ = tx.Rollback(ctx) }()
	pattern := g.Schema() + "_pattern"
	err = execute(ctx, tx, []string{"create schema " + pattern, "set local search_path to " + pattern, tablesDDL()})
	if err != nil {
		return nil, err
	}
	return queryStatements(ctx, tx, fmt.Sprintf(`
		select case
		  when c.oid is null then pg_get_indexdef(indexrelid, 0, true)
		  else format('alter table %%I add constraint %%I %%s', t.relname, conname, pg_get_constraintdef(c.oid))
		end
		from pg_index
		join pg_class t on t.oid = indrelid
		join pg_class i on i.oid = indexrelid
		left join pg_constraint c on conindid = indexrelid
		where t.relnamespace = '%[1]s'::regnamespace
		  and to_regclass(format('%[2]s.%%I', i.relname)) is null
		order by c.oid is null, pg_table_size(format('%[2]s.%%I', t.relname)::regclass) desc, t.relname, i.relname`, pattern, g.Schema()))
}

// TablesBySize returns the names of the generation's tables, the largest first.
func (g Generation) TablesBySize(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, _ := conn.Query(ctx, `
		select relname
		from pg_class
		where relnamespace = $1::regnamespace and relkind in ('r', 'p')
		order by pg_table_size(oid) desc, relname`, g.Schema())
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("tables: %w", err)
	}
	return names, nil
}

func queryStatements(ctx context.Context, tx pgx.Tx, query string) ([]string, error) {
	rows, _ := tx.Query(ctx, query)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return list, nil
}

func execute(ctx context.Context, tx pgx.Tx, steps []string) error {
	for _, step := range steps {
		if _, err := tx.Exec(ctx, step); err != nil {
			return fmt.Errorf("change the schema: %w", err)
		}
	}
	return nil
}
