-- Inserts the notices of a partition ($1, $2, $3) that are above its floor, and raises the floor to $4, the position. The result is the floor
-- as it was; 0: there was none. The position row is locked, so no other projector writes the partition's floor; 'webhooks add' can raise it.
with floor as materialized (
  select sequence
  from webhook.floor
  where stream = $1
    and stream_created = $2
    and partition = $3
),
fresh as materialized (
  select *
  from unnest(
    $5::bigint[], $6::smallint[], $7::text[], $8::text[], $9::uuid[], $10::text[], $11::text[], $12::uuid[], $13::uuid[],
    $14::timestamptz[], $15::text[]
  ) n (sequence, ordinal, id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at, traceparent)
  where n.sequence > coalesce((select sequence from floor), 0)
),
added as (
  insert into webhook.notice (
    stream, stream_created, partition, sequence, ordinal, id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at, traceparent
  )
  select $1, $2, $3, sequence, ordinal, id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at, traceparent
  from fresh
),
raised as (
  insert into webhook.floor (stream, stream_created, partition, sequence)
  select $1, $2, $3, $4
  where exists (select from fresh)
  on conflict (stream, stream_created, partition) do update
  set sequence = greatest(floor.sequence, excluded.sequence)
)
select coalesce((select sequence from floor), 0)
