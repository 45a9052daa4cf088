package audit

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events"
)

// PlainInserts returns how long a plain insert of the entries' rows takes, in transactions of the writer's size.
func PlainInserts(ctx context.Context, pool *pgxpool.Pool, list []events.AuditEntry) (time.Duration, error) {
	const insert = `insert into access.audit
		select at, id, key_id, operation, system_id, status, code, address, request_id, count, last_at, last_request_id, addresses
		from unnest($1::timestamptz[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::smallint[], $7::text[], $8::inet[], $9::text[],
		  $10::bigint[], $11::timestamptz[], $12::text[], $13::integer[])
		  as entry (at, id, key_id, operation, system_id, status, code, address, request_id, count, last_at, last_request_id, addresses)`
	began := time.Now()
	for batch := range slices.Chunk(entriesOf([]delivery{{entries: list}}), batchEntries) {
		if _, err := pool.Exec(ctx, insert, columns(batch)...); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}
