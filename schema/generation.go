package schema

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
)

// Generation is one build of the projection. The live one is in the schema "projection", every other one in its own
// schema.
type Generation struct {
	ID int64
}

// Schema returns the name of the generation's schema while it is not live.
func (g Generation) Schema() string { return fmt.Sprintf("generation_%d", g.ID) }

// NewGeneration creates a generation with this release's definition: empty tables, and the indexes that the projector
// needs. partitions is the number of partitions of the stream that fills it; 0: that of the first stream that a
// projector claims.
func NewGeneration(ctx context.Context, tx pgx.Tx, partitions int) (Generation, error) {
	var g Generation
	err := tx.QueryRow(ctx, "insert into control.generation (definition) values ($1) returning id",
		Definition()).Scan(&g.ID)
	if err != nil {
		return g, fmt.Errorf("generation: %w", err)
	}

	if err := execute(ctx, tx, []string{"create schema " + g.Schema()}); err != nil {
		return g, err
	}
	if err := createTables(ctx, tx, g.Schema(), g.ID, partitions); err != nil {
		return g, err
	}

	// The grants name all tables of the schema, so the tables come first.
	return g, grantOn(ctx, tx, g.Schema())
}

// createTables creates the empty tables of a generation in a schema.
func createTables(ctx context.Context, tx pgx.Tx, name string, id int64, partitions int) error {
	err := execute(ctx, tx, []string{
		"set local search_path to " + name,
		projectionDDL(),
		fmt.Sprintf("insert into generation (id, definition, partitions) values (%d, '\\x%x', nullif(%d, 0))", id,
			Definition(), partitions),
	})
	if err != nil {
		return err
	}
	return distribute(ctx, tx, name)
}

// Verification is the schema of the tables that a verification or a repair builds beside the live ones.
const Verification = "verification"

// NewVerification creates empty tables like those of a generation in the schema [Verification], and drops those that an
// earlier run has left.
func NewVerification(ctx context.Context, tx pgx.Tx, partitions int) error {
	if err := DropVerification(ctx, tx); err != nil {
		return err
	}
	return createTables(ctx, tx, Verification, 0, partitions)
}

// DropVerification drops the tables in the schema [Verification].
func DropVerification(ctx context.Context, tx pgx.Tx) error {
	statements, err := queryStatements(ctx, tx, fmt.Sprintf(
		"select format('drop table %%s', oid::regclass) from pg_class where relnamespace = '%s'::regnamespace and relkind = "+
			"'r'", Verification))
	if err != nil {
		return err
	}

	// A user can't drop the tables of another user.
	err = execute(ctx, tx, statements)
	if HasCode(err, pgerrcode.InsufficientPrivilege) {
		return fmt.Errorf("an interrupted command of another user has left tables in the schema %s: "+
			"run 'callboard verify' as that user: %w",
			Verification, err)
	}
	return err
}

// MakeLive makes the generation the live one. There must be no live generation.
func (g Generation) MakeLive(ctx context.Context, tx pgx.Tx) error {
	return execute(ctx, tx, []string{
		fmt.Sprintf("alter schema %s rename to projection", g.Schema()),
		fmt.Sprintf("update control.generation set state = 'live', switched_at = now() where id = %d", g.ID),
	})
}

// grantLive grants the roles their rights on the live generation.
func grantLive(ctx context.Context, tx pgx.Tx) error { return grantOn(ctx, tx, "projection") }

func grantOn(ctx context.Context, tx pgx.Tx, name string) error {
	distributed, err := IsDistributed(ctx, tx, name+".position")
	if err != nil {
		return err
	}
	columns := "(partitions, directory)" // the only ones that a projector writes
	if distributed {
		columns = "" // nodes know no rights on columns
	}
	return execute(ctx, tx, []string{fmt.Sprintf(projectionGrantsSQL, name, columns)})
}

// MakePrevious makes the live generation the previous one, for a rollback.
func (g Generation) MakePrevious(ctx context.Context, tx pgx.Tx) error {
	return execute(ctx, tx, []string{
		"alter schema projection rename to " + g.Schema(),
		fmt.Sprintf("update control.generation set state = 'previous' where id = %d", g.ID),
	})
}

// Drop drops a generation that is not live. If it never was, its dead letters are dropped too: no other generation
// knows them.
func (g Generation) Drop(ctx context.Context, tx pgx.Tx) error {
	return execute(ctx, tx, []string{
		fmt.Sprintf("drop schema if exists %s cascade", g.Schema()),
		fmt.Sprintf("delete from control.dead_letter d where generation = %d and exists (select from control.generation "+
			"where id = d.generation and switched_at is null)", g.ID),
		fmt.Sprintf("update control.generation set state = 'dropped' where id = %d", g.ID),
	})
}

// readerIndexesFile has the indexes that only readers need.
const readerIndexesFile = "15_reader_indexes.sql"

// ReaderIndexes are the statements that create the indexes which only readers need, and no load of the projector: a
// generation is built without them. Each must be executed with the generation's schema on the search path, and does
// nothing where the index exists.
func ReaderIndexes() []string {
	file, _ := projectionFiles.ReadFile("projection/" + readerIndexesFile) // an embedded file can be read
	return strings.Split(strings.TrimSuffix(strings.TrimSpace(string(file)), ";"), ";\n")
}

// CreateReaderIndexes creates the indexes that only readers need.
func (g Generation) CreateReaderIndexes(ctx context.Context, tx pgx.Tx) error {
	return execute(ctx, tx, append([]string{"set local search_path to " + g.Schema()}, ReaderIndexes()...))
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
