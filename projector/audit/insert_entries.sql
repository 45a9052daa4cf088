-- Inserts the entries that are not stored yet, and updates the newest use of every key, in one statement and so in one transaction.
-- Rows are written in the order of their keys, so that projectors with the same messages lock them in the same order.
-- least(at, now()) limits the last use to the present: with the time of a reader whose clock is ahead, later uses would be ignored.
-- The conflict clause of the last insert names no columns, because naming them needs the right to read access.audit.
with entry as materialized (
  select *
  from unnest($1::timestamptz[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::bigint[], $7::text[], $8::inet[], $9::text[])
    as entry (at, id, key_id, operation, system_id, status, code, address, request_id)
), used as (
  insert into access.key_use (key_id, at, address)
  select distinct on (key_id) key_id, least(at, now()), address
  from entry
  order by key_id, entry.at desc, id desc
  on conflict (key_id) do update set at = excluded.at, address = excluded.address where key_use.at < excluded.at
)
insert into access.audit (at, id, key_id, operation, system_id, status, code, address, request_id)
select at, id, key_id, operation, system_id, status, nullif(code, ''), address, request_id
from entry
order by at, id
on conflict do nothing
