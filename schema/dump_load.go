package schema

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// ErrNotEmpty means that the database already has rows.
var ErrNotEmpty = errors.New("the database is not empty")

// Load fills an empty database in one transaction: an interrupted load leaves it empty. Commit or close it.
type Load struct {
	tx pgx.Tx
}

// NewLoad begins a load, which uses the connection until it ends. The user must be the schemas' owner. The error is a
// [*VersionError] if the schema is not this release's, and wraps [ErrNotEmpty] if a table has rows.
func NewLoad(ctx context.Context, conn *pgx.Conn) (*Load, error) {
	tx, err := beginDump(ctx, conn, pgx.TxOptions{})
	if err != nil {
		return nil, err
	}

	l := &Load{tx}
	// Commit replaces schemas, so the transaction may have one session of each node only.
	if _, err = tx.Exec(ctx, OneSessionPerNode); err == nil {
		err = l.checkEmpty(ctx)
	}
	if err != nil {
		l.Close(ctx)
		return nil, err
	}

	return l, nil
}

// Close rolls back a load that was not committed.
func (l *Load) Close(ctx context.Context) { _ = l.tx.Rollback(context.WithoutCancel(ctx)) }

// checkEmpty locks the tables and refuses rows that 'migrate' did not make. Projectors that found the database empty
// may have left positions at 0, the identity of a stream, and the position of a stream of audit entries.
func (l *Load) checkEmpty(ctx context.Context) error {
	// No other session may write to these tables until the load ends.
	if _, err := l.tx.Exec(ctx, "lock table "+strings.Join(DumpTables(), ", ")+" in share row exclusive mode"); err != nil {
		return fmt.Errorf("lock tables: %w", err)
	}

	// Migrations and idle projectors leave other rows only.
	for _, c := range []struct{ table, condition string }{
		{"access.key", "true"},
		{"access.key_use", "true"},
		{AuditTable, "true"},
		{"control.generation", "state <> 'live'"},
		{"control.clock_adjustment", "true"},
		{"control.correction", "true"},
		{"control.dead_letter", "true"},
		{"webhook.endpoint", "true"},
		{"webhook.notice", "true"},
		{"webhook.floor", "true"},
		{"webhook.fanout", "true"},
		{"webhook.delivery", "true"},
		{"webhook.audit", "true"},
		{"projection.position", "sequence > 0"},
	} {
		var filled bool
		query := fmt.Sprintf("select exists (select 1 from %s where %s)", c.table, c.condition)
		if err := l.tx.QueryRow(ctx, query).Scan(&filled); err != nil {
			return fmt.Errorf("rows of %s: %w", c.table, err)
		}

		if filled {
			return fmt.Errorf("%w: %s has rows", ErrNotEmpty, c.table)
		}
	}

	// What migrate and idle projectors have left gives way to the rows of the backup.
	_, err := l.tx.Exec(ctx, "delete from control.generation; delete from control.stream; "+
		"delete from control.audit_position")
	if err != nil {
		return fmt.Errorf("empty generation: %w", err)
	}
	return nil
}

// OpenAuditDays creates the audit's table partitions of days in UTC.
func (l *Load) OpenAuditDays(ctx context.Context, days []time.Time) error {
	for _, day := range days {
		var open bool
		if err := l.tx.QueryRow(ctx, "select access.open_audit_day($1)", day).Scan(&open); err != nil {
			return fmt.Errorf("audit of %s: %w", day.Format(time.DateOnly), err)
		}
		if !open {
			return fmt.Errorf("audit of %s: its table exists and is detached", day.Format(time.DateOnly))
		}
	}
	return nil
}

// CopyFrom inserts rows in COPY's text format, and returns their number.
func (l *Load) CopyFrom(ctx context.Context, table string, columns []string, r io.Reader) (int64, error) {
	name, list, err := dumpedColumns(table, columns)
	if err != nil {
		return 0, err
	}
	done, err := l.tx.Conn().PgConn().CopyFrom(ctx, r, fmt.Sprintf("copy %s (%s) from stdin", name, list))
	if err != nil {
		return 0, fmt.Errorf("copy %s: %w", table, err)
	}
	return done.RowsAffected(), nil
}

// KeyState is what decides whether a key works.
type KeyState struct {
	ID        uuid.UUID  `json:"id"`
	Name      string     `json:"name"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt"`
	RevokedAt *time.Time `json:"revokedAt"`
}

const endKeysSQL = `
	update access.key k
	set revoked_at = least(k.revoked_at, e.revoked_at), expires_at = least(k.expires_at, e.expires_at)
	from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) e (id, revoked_at, expires_at)
	where k.id = e.id
	  and (k.revoked_at, k.expires_at) is distinct from (least(k.revoked_at, e.revoked_at), least(k.expires_at, e.expires_at))
	returning k.id, k.name, k.created_at, k.expires_at, k.revoked_at`

// ErrOldKeys is a list of keys without some keys of the database, so it cannot be newer than these.
var ErrOldKeys = errors.New("the list of keys is older than the backup, or of another installation")

// EndListedKeys ends the keys that a newer list shows as revoked or ended earlier, and returns them. It never extends a key's
// life. unknown are the keys of the list that the database doesn't have.
func (l *Load) EndListedKeys(ctx context.Context, list []KeyState) (ended, unknown []KeyState, err error) {
	ids, revoked, expires := ends(list)
	known, missing, err := l.compareKeys(ctx, ids)
	// A list without some keys of the database can't be newer than the backup.
	switch {
	case err != nil:
		return nil, nil, err
	case missing > 0:
		return nil, nil, fmt.Errorf("%w: it lacks %d keys", ErrOldKeys, missing)
	}

	for _, k := range list {
		if !known[k.ID] {
			unknown = append(unknown, k)
		}
	}

	ended, err = l.endKeys(ctx, ids, revoked, expires)
	return ended, unknown, err
}

func (l *Load) endKeys(ctx context.Context, ids []uuid.UUID, revoked, expires []*time.Time) ([]KeyState, error) {
	rows, _ := l.tx.Query(ctx, endKeysSQL, ids, revoked, expires)
	ended, err := pgx.CollectRows(rows, pgx.RowToStructByPos[KeyState])
	if err != nil {
		return nil, fmt.Errorf("end keys: %w", err)
	}
	return ended, nil
}

// EndGivenKeys ends keys at the given times, or earlier, and returns those that would have lived longer. Of states, only
// the ids and the ends count. They need not be of all keys.
func (l *Load) EndGivenKeys(ctx context.Context, states []KeyState) ([]KeyState, error) {
	ids, revoked, expires := ends(states)
	return l.endKeys(ctx, ids, revoked, expires)
}

// ends returns the columns of states.
func ends(states []KeyState) (ids []uuid.UUID, revoked, expires []*time.Time) {
	for _, k := range states {
		ids, revoked, expires = append(ids, k.ID), append(revoked, k.RevokedAt), append(expires, k.ExpiresAt)
	}
	return ids, revoked, expires
}

// compareKeys returns which of the ids are keys, and how many keys are not among the ids.
func (l *Load) compareKeys(ctx context.Context, ids []uuid.UUID) (known map[uuid.UUID]bool, missing int, err error) {
	rows, _ := l.tx.Query(ctx, "select id, id = any ($1) from access.key", ids)
	known = make(map[uuid.UUID]bool)
	var id uuid.UUID
	var listed bool

	_, err = pgx.ForEachRow(rows, []any{&id, &listed}, func() error {
		known[id] = true
		if !listed {
			missing++
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("compare keys: %w", err)
	}

	return known, missing, nil
}

// The projection starts empty, as a new generation after all earlier ones. So every recorded dead letter of the live
// one stays one. Those of newer generations, which were never served or were rolled back, are not the live one's.
const endGenerationsSQL = `
	delete from control.dead_letter
	where generation > (select max(id) from control.generation where state = 'live');
	update control.generation set state = 'dropped' where state <> 'dropped';
	select setval(pg_get_serial_sequence('control.generation', 'id'), greatest(1, (select max(id) from control.generation)));
	select setval(pg_get_serial_sequence('control.dead_letter', 'id'), greatest(1, (select max(id) from control.dead_letter)));
	select setval(pg_get_serial_sequence('webhook.delivery', 'id'), greatest(1, (select max(id) from webhook.delivery)));
	select setval(pg_get_serial_sequence('webhook.audit', 'id'), greatest(1, (select max(id) from webhook.audit)))`

// Commit makes an empty projection and commits.
func (l *Load) Commit(ctx context.Context) error {
	if _, err := l.tx.Exec(ctx, endGenerationsSQL); err != nil {
		return fmt.Errorf("generations: %w", err)
	}

	// The backup has no projection: projectors fill an empty projection from the stream.
	if err := ReplaceProjection(ctx, l.tx); err != nil {
		return err
	}

	// The end of the load means that the rows are on the disk, whatever the session's default is.
	if _, err := l.tx.Exec(ctx, "set local synchronous_commit = on"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := l.tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
