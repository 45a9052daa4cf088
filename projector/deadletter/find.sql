-- $1 the ID of the dead letter.
select
  id,
  state,
  stream,
  sequence,
  partition,
  subject,
  reason,
  stored_at,
  recorded_at,
  tries,
  failed_at,
  retried_at,
  resolved_at,
  header as raw_header,
  data
from control.dead_letter
where id = $1
