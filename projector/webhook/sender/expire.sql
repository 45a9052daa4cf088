-- Moves waiting deliveries that were created before $1 to the finished ones, and returns how many, up to $2 of the lowest ids: ids rise with the time of creation.
-- Those that were redelivered keep their ids, and wait since they were due. Later ones are not in the slice, so that they don't fill it.
with slice as (
  select id, cause, created_at
  from webhook.delivery
  where cause <> 'redelivered'
    or due_at < $1
  order by id
  limit $2
  for update skip locked
),
expired as (
  delete from webhook.delivery d
  using slice
  where d.id = slice.id
    and (slice.cause = 'redelivered' or slice.created_at < $1)
  returning d.*
),
skipped as (
  insert into webhook.finished (
    id, endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
    traceparent, cause, attempts, created_at, state
  )
  select
    id, endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
    traceparent, cause, attempts, created_at, 'skipped'
  from expired
  returning id
)
select count(*)
from skipped
