-- Inserts the notices of a partition ($1, $2) that are above its floor, and raises the floor to $3, the position. The result is the floor
-- as it was; 0: there was none. The position row is locked, so no other projector writes the partition's floor; 'webhooks add' can raise it.
with floor as materialized (
  select sequence
  from webhook.floor
  where stream = $1
    and partition = $2
),
fresh as materialized (
  select *
  from unnest(
    $4::bigint[], $5::smallint[], $6::text[], $7::text[], $8::uuid[], $9::text[], $10::text[], $11::uuid[], $12::uuid[],
    $13::timestamptz[], $14::text[]
  ) n (sequence, ordinal, id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at, traceparent)
  where n.sequence > coalesce((select sequence from floor), 0)
),
added as (
  insert into webhook.notice (
    stream, partition, sequence, ordinal, id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at, traceparent
  )
  select $1, $2, sequence, ordinal, id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at, traceparent
  from fresh
),
raised as (
  insert into webhook.floor (stream, partition, sequence)
  select $1, $2, $3
  where exists (select from fresh)
  on conflict (stream, partition) do update
  set sequence = greatest(floor.sequence, excluded.sequence)
)
select coalesce((select sequence from floor), 0)
