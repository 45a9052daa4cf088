package readapi

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// projection fills the tables that the projector would.
type projection struct {
	testing.TB
	pool *pgxpool.Pool
}

// watermark is that of every partition.
const watermark = "2026-03-02T08:00:00.125Z"

func (p *projection) exec(sql string, arguments ...any) {
	p.Helper()
	if _, err := p.pool.Exec(context.Background(), sql, arguments...); err != nil {
		p.Fatal(err)
	}
}

// system adds a phone system in a partition that stands at the watermark.
func (p *projection) system(name string) uuid.UUID {
	p.Helper()
	id := uuid.New()
	p.exec(`insert into projection.position (partition, stream, stream_created, sequence, epoch, clock, watermark)
		values (3, 'PHONES', 'epoch', 1, 1, $1, $1) on conflict do nothing`, at(watermark))
	p.exec("insert into projection.phone_system (id, version, name, partition) values ($1, 1, $2, 3)", id, name)
	return id
}

func (p *projection) attach(system, organization uuid.UUID) {
	p.Helper()
	p.exec("update projection.phone_system set organization_id = $2 where id = $1", system, organization)
}

func (p *projection) group(members ...uuid.UUID) uuid.UUID {
	p.Helper()
	id := uuid.New()
	p.exec("insert into projection.phone_system_group (id, version, name, phone_system_ids) values ($1, 1, 'group', $2)", id, members)
	return id
}

func (p *projection) extension(system uuid.UUID) uuid.UUID {
	p.Helper()
	id := uuid.New()
	p.exec(`insert into projection.extension (system_id, id, version, number, name, status, created_at, updated_at, assigned_phones)
		values ($1, $2, 1, '101', 'Front desk', 'active', now(), now(), '[]')`, system, id)
	return id
}

// call is a row of the call log as a test sees it.
type call struct {
	id         uuid.UUID
	sid        string
	createdAt  time.Time
	answeredBy *uuid.UUID
	from       *uuid.UUID
}

// belongsTo reports whether a key narrowed to the extension sees the call.
func (c call) belongsTo(extension uuid.UUID) bool {
	return c.answeredBy != nil && *c.answeredBy == extension || c.from != nil && *c.from == extension
}

// calls adds calls with their counts, in one transaction as the projector would.
func (p *projection) calls(system uuid.UUID, calls ...call) {
	p.Helper()
	columns := []string{
		"system_id", "id", "version", "updated_at", "call_sid", "direction", "status", "from_party", "to_party", "created_at",
		"answered_by_extension_id", "from_extension_id", "is_emergency", "is_converted", "is_edited", "tags", "transcription_status",
	}
	rows := pgx.CopyFromSlice(len(calls), func(i int) ([]any, error) {
		c := calls[i]
		return []any{
			system, c.id, 1, c.createdAt, c.sid, "inbound", "completed", "+15550001", "+15550002", c.createdAt,
			c.answeredBy, c.from, false, false, false, "[]", "unavailable",
		}, nil
	})
	err := pgx.BeginFunc(context.Background(), p.pool, func(tx pgx.Tx) error {
		if _, err := tx.CopyFrom(context.Background(), pgx.Identifier{"projection", "call_log"}, columns, rows); err != nil {
			return err
		}
		for _, sql := range []string{
			"delete from projection.day_count where system_id = $1",
			"delete from projection.extension_call where system_id = $1",
			ownCallsSQL,
			countCallsSQL,
		} {
			if _, err := tx.Exec(context.Background(), sql, system); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.Fatal(err)
	}
}

// ownCallsSQL and countCallsSQL derive from a system's calls what the projector keeps beside them.
const (
	ownCallsSQL = `
		insert into projection.extension_call (system_id, extension_id, created_at, call_id)
		select system_id, answered_by_extension_id, created_at, id
		from projection.call_log where system_id = $1 and answered_by_extension_id is not null
		union
		select system_id, from_extension_id, created_at, id
		from projection.call_log where system_id = $1 and from_extension_id is not null`
	countCallsSQL = `
		insert into projection.day_count (system_id, list, subset, day, count)
		select system_id, 'call_log', subset, (created_at at time zone 'UTC')::date as day, count(*)
		from (
		  select system_id, '00000000-0000-0000-0000-000000000000'::uuid as subset, created_at from projection.call_log
		  union all
		  select system_id, extension_id, created_at from projection.extension_call
		) every
		where system_id = $1
		group by system_id, subset, day`
)
