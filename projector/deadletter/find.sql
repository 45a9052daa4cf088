-- $1 the id.
select
  id,
  state,
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
