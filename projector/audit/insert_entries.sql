-- Inserts the entries that are not stored yet, and updates the newest use of every key, in one statement and so in one transaction.
-- Rows are written in the order of their keys, so that projectors with the same messages lock them in the same order.
-- least(..., now()) limits the last use to the present: with the time of a reader whose clock is ahead, later uses would be ignored.
-- The conflict clause of the last insert names no columns, because naming them needs the right to read access.audit.
with entry as materialized (
  select *
  from unnest(
    $1::timestamptz[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::bigint[], $7::text[], $8::inet[], $9::text[],
    $10::bigint[], $11::timestamptz[], $12::text[], $13::integer[]
  ) as entry (
    at, id, key_id, operation, system_id, status, code, address, request_id, count, last_at, last_request_id, addresses
  )
), used as (
  insert into access.key_use (key_id, at, address)
  select distinct on (key_id) key_id, least(coalesce(last_at, at), now()), address
  from entry
  order by key_id, coalesce(last_at, entry.at) desc, id desc
  on conflict (key_id) do update set at = excluded.at, address = excluded.address where key_use.at < excluded.at
)
insert into access.audit (
  at, id, key_id, operation, system_id, status, code, address, request_id, count, last_at, last_request_id, addresses
)
select
  at, id, key_id, operation, system_id, status, nullif(code, ''), address, request_id, count, last_at, nullif(last_request_id, ''), addresses
from entry
order by at, id
on conflict do nothing
