-- Moves finished deliveries ($1) back to those that wait, under their ids.
with moved as (
  delete from webhook.finished
  where id = any($1)
  returning *
)
insert into webhook.delivery (
  id, endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
  traceparent, cause, created_at
)
select
  id, endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
  traceparent, 'redelivered', created_at
from moved
returning id, endpoint_id
