-- Moves waiting deliveries of an endpoint ($1), up to $2 of them, the oldest first, to the finished ones.
with slice as (
  select id
  from webhook.delivery
  where endpoint_id = $1
  order by id
  limit $2
  for update
),
skipped as (
  delete from webhook.delivery d
  using slice
  where d.id = slice.id
  returning d.*
)
insert into webhook.finished (
  id, endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
  traceparent, cause, attempts, created_at, state
)
select
  id, endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
  traceparent, cause, attempts, created_at, 'skipped'
from skipped
