// Package schema defines callboard's PostgreSQL schemas: the projection's tables, the migrations of the access, control
// and webhook schemas, and the roles with their grants.
//
// The projection schema is never migrated. It is one set of files, and every change to them needs a new generation,
// which a rebuild fills from the first event. The access schema (keys, audit) and the control schema (dead letters,
// clock adjustments, generations) are migrated by goose.
package schema

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

//go:embed roles.sql
var rolesSQL string

//go:embed projection_grants.sql
var projectionGrantsSQL string

//go:embed projection/*.sql
var projectionFiles embed.FS

//go:embed control/*.sql
var controlFiles embed.FS

// ErrProjectionChanged is a projection that was built from another release's files.
var ErrProjectionChanged = errors.New(
	"the projection was built by another release: run 'callboard rebuild'")

// ErrNotMigrated is a database in which migrations of this release are missing.
var ErrNotMigrated = errors.New("not all of this release's migrations have run: run 'callboard migrate'")

// Migrate brings the database at url to this release's schema: roles, migrations and, where there is none, an empty
// projection. It can run twice and concurrently. superuserSteps are the steps for which the user of the URL has no
// rights, one sentence each. The error is [ErrProjectionChanged] where the projection is another release's; everything
// else is up to date then.
func Migrate(ctx context.Context, url string) (superuserSteps []string, err error) {
	config, err := parseForMaintenance(url)
	if err != nil {
		return nil, err
	}

	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.Code == pgerrcode.Warning { // raised by roles.sql: PostgreSQL's own warnings have other codes
			superuserSteps = append(superuserSteps, n.Message)
		}
	}

	err = withMigrationLock(ctx, config, func(conn *pgx.Conn) error {
		if err := checkEncoding(conn); err != nil {
			return err
		}

		// Migrations grant rights to the roles, so the roles come first.
		if _, err := conn.Exec(ctx, rolesSQL); err != nil {
			return fmt.Errorf("roles: %w", err)
		}
		if err := migrateControl(ctx, conn.Config()); err != nil {
			return fmt.Errorf("control migrations: %w", err)
		}

		return ensureProjection(ctx, conn)
	})

	return superuserSteps, err
}

// checkEncoding is an error where the database can't hold every text.
func checkEncoding(conn *pgx.Conn) error {
	encoding := conn.PgConn().ParameterStatus("server_encoding")
	if encoding == "UTF8" {
		return nil
	}
	return fmt.Errorf("the database's encoding is %s, which can't hold every text: create another database, with "+
		`"create database NAME template template0 encoding 'UTF8' locale 'C.UTF-8'"`, encoding)
}

// RecreateProjection drops the projection and builds an empty one. Readers answer 404 until the projector has refilled
// it.
func RecreateProjection(ctx context.Context, url string) error {
	config, err := parseForMaintenance(url)
	if err != nil {
		return err
	}
	return withMigrationLock(ctx, config, func(conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return ReplaceProjection(ctx, tx) })
	})
}

// ReplaceProjection drops the projection, and a generation that is being built, and builds an empty one in a
// transaction.
func ReplaceProjection(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "drop schema if exists projection cascade"); err != nil {
		return fmt.Errorf("drop projection: %w", err)
	}
	if err := dropUnfinished(ctx, tx); err != nil {
		return err
	}
	return buildProjection(ctx, tx)
}

// dropUnfinished drops the generation that a rebuild of the old projection was building.
func dropUnfinished(ctx context.Context, tx pgx.Tx) error {
	var g Generation
	err := tx.QueryRow(ctx, "select id from control.generation where state = 'building'").Scan(&g.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("generation: %w", err)
	}
	return g.Drop(ctx, tx)
}

// migrationLock is the advisory lock under which a database is migrated: "callboar" in ASCII.
const migrationLock = 0x63616c6c626f6172

func withMigrationLock(ctx context.Context, config *pgx.ConnConfig, work func(*pgx.Conn) error) error {
	conn, err := connectForMaintenance(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return work(conn)
}

func migrateControl(ctx context.Context, config *pgx.ConnConfig) (err error) {
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(LiftTransactionTimeout))
	defer func() { err = errors.Join(err, db.Close()) }()
	migrations, err := controlMigrations(db)
	if err != nil {
		return err
	}
	_, err = migrations.Up(ctx)
	return err
}

func controlMigrations(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(controlFiles, "control")
	if err != nil {
		return nil, err
	}
	versions, err := database.NewStore(database.DialectPostgres, "control.migration")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider("", db, files, goose.WithStore(versions))
}

// RowQuerier is a pool, a connection or a transaction.
type RowQuerier interface {
	QueryRow(ctx context.Context, query string, parameters ...any) pgx.Row
}

// CheckMigrated returns [ErrNotMigrated] if a control migration of this release is missing. The roles of the projector
// and the operator may call it.
func CheckMigrated(ctx context.Context, db RowQuerier) error {
	var last int64
	err := db.QueryRow(ctx, "select coalesce(max(version_id), 0) from control.migration where is_applied").Scan(&last)
	switch {
	// Before the first migrations the table, or the role's right to read it, is missing.
	case HasCode(err, pgerrcode.UndefinedTable, pgerrcode.InsufficientPrivilege):
		return ErrNotMigrated
	case err != nil:
		return fmt.Errorf("migrations: %w", err)
	case last < Version():
		return ErrNotMigrated
	}

	return nil
}

// Version returns the number of this release's last control migration: the number at the beginning of the last file's
// name.
func Version() int64 {
	entries, _ := controlFiles.ReadDir("control") // an embedded folder can be read, and ReadDir sorts by name
	number, _, _ := strings.Cut(entries[len(entries)-1].Name(), "_")
	last, _ := strconv.ParseInt(number, 10, 64) // goose parses it, too
	return last
}

func ensureProjection(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var exists bool
		if err := tx.QueryRow(ctx, "select to_regnamespace('projection') is not null").Scan(&exists); err != nil {
			return fmt.Errorf("projection: %w", err)
		}
		if !exists {
			return buildProjection(ctx, tx)
		}

		var current bool
		err := tx.QueryRow(ctx, "select definition = $1 from control.generation where state = 'live'",
			Definition()).Scan(&current)
		if err != nil {
			return fmt.Errorf("generation: %w", err)
		}

		// The projection of another release stays as it is, because only a rebuild can replace its rows.
		if !current {
			return ErrProjectionChanged
		}
		return grantLive(ctx, tx)
	})
}

// buildProjection creates an empty generation and makes it live.
func buildProjection(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "update control.generation set state = 'dropped' where state = 'live'"); err != nil {
		return fmt.Errorf("generation: %w", err)
	}

	// The projector that claims the first stream sets the number of partitions.
	g, err := NewGeneration(ctx, tx, 0)
	if err != nil {
		return err
	}

	if err := g.CreateReaderIndexes(ctx, tx); err != nil {
		return err
	}
	return g.MakeLive(ctx, tx)
}

// statisticsFile is the last of the projection's files. It fills tables, analyzes them and empties them.
const statisticsFile = "15_statistics.sql"

// projectionDDL returns the projection's files in order, without the indexes of readers. Their names are unqualified:
// the caller sets the search path.
func projectionDDL() string {
	statistics, _ := projectionFiles.ReadFile("projection/" + statisticsFile) // an embedded file can be read
	return tablesDDL() + string(statistics)
}

// tablesDDL returns the projection's files without the statistics and the indexes of readers.
func tablesDDL() string {
	var ddl strings.Builder

	// An embedded folder can be read, and ReadDir sorts by name.
	entries, _ := projectionFiles.ReadDir("projection")
	for _, entry := range entries {
		if entry.Name() == statisticsFile || entry.Name() == readerIndexesFile {
			continue
		}

		file, _ := projectionFiles.ReadFile("projection/" + entry.Name())
		ddl.Write(file)
	}

	return ddl.String()
}

// Definition returns the SHA-256 of the projection's files: its tables, and the number of the fold rules.
func Definition() []byte {
	digest := sha256.Sum256([]byte(projectionDDL() + strings.Join(ReaderIndexes(), "")))
	return digest[:]
}
