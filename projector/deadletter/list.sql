-- $1 whether resolved ones are listed too, $2 the maximum number of rows.
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
  resolved_at
from control.dead_letter
where $1 or resolution is null
order by stored_at, id
limit $2
