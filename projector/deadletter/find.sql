-- $1 the id.
select
  id,
  coalesce(resolution, case when retry_requested_at is null then 'open' else 'waiting' end) as state,
  stream,
  stream_created,
  sequence,
  partition,
  subject,
  reason,
  stored_at,
  recorded_at,
  retry_requested_at,
  resolved_at,
  header as wire,
  data
from control.dead_letter
where id = $1
