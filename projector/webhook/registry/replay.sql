-- Creates deliveries to an endpoint ($5), 50 a second from now on, or from the end of an earlier replay. Due one after the other, they are
-- after what becomes fetchable meanwhile.
insert into webhook.delivery (
  endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
  traceparent, cause, due_at
)
select
  $5, stream, sequence, id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
  traceparent, 'replayed',
  greatest(now(), (select max(due_at) from webhook.delivery where endpoint_id = $5 and cause = 'replayed' and attempts = 0))
    + (row_number() over (order by at, stream, sequence, ordinal) - 1) * interval '20 ms'
from ({{notices}}) n
order by at, stream, sequence, ordinal
