-- $1 the ID of the dead letter.
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
  header as raw_header,
  data
from control.dead_letter
where id = $1
