-- Creates deliveries to an endpoint ($5) of what became fetchable from $2 until $3, of some kinds ($4), in phone systems ($1), and returns their number;
-- where $6 says so, it only counts. They are due 50 a second from now on, or from the end of an earlier replay. Due one after the other, they are
-- after what becomes fetchable meanwhile. Notices above the fan-out's position are left out: they are not fetchable from every replica yet, and are
-- sent anyway.
with replayed as materialized (
  select n.*
  from webhook.notice n
  join webhook.fanout f on f.stream = n.stream
    and f.partition = n.partition
    and f.sequence >= n.sequence
  where n.system_id = any ($1)
    and n.at >= $2
    and n.at < $3
    and n.recorded_at >= $2::timestamptz - interval '1 hour' -- leaves out older days; the clocks of stream and database can differ
    and n.kind = any ($4)
),
created as (
  insert into webhook.delivery (
    endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
    traceparent, cause, due_at
  )
  select
    $5, stream, sequence, id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
    traceparent, 'replayed',
    greatest(now(), (select max(due_at) from webhook.waiting where endpoint_id = $5 and cause = 'replayed' and tries = 0))
      + (row_number() over (order by at, stream, sequence, ordinal) - 1) * interval '20 ms'
  from replayed
  where not $6::boolean
  order by at, stream, sequence, ordinal
)
select count(*)
from replayed
