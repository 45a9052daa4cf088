package readapi

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/readapi/query/querytest"
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

// calls adds calls with their counts.
func (p *projection) calls(system uuid.UUID, calls ...call) {
	p.Helper()
	columns := []string{
		"system_id", "id", "version", "updated_at", "call_sid", "direction", "status", "from_party", "to_party", "created_at",
		"answered_by_extension_id", "from_extension_id", "is_emergency", "is_converted", "is_edited", "tags", "transcription_status",
		"representative_state",
	}
	rows := pgx.CopyFromSlice(len(calls), func(i int) ([]any, error) {
		c := calls[i]
		return []any{
			system, c.id, 1, c.createdAt, c.sid, "inbound", "completed", "+15550001", "+15550002", c.createdAt,
			c.answeredBy, c.from, false, false, false, "[]", "unavailable", "not_analyzed",
		}, nil
	})
	if _, err := p.pool.CopyFrom(context.Background(), pgx.Identifier{"projection", "call_log"}, columns, rows); err != nil {
		p.Fatal(err)
	}
	querytest.Count(p, p.pool)
}
