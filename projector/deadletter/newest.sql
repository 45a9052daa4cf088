-- $1 the maximum number of rows. Dead letters of a generation that is being built do not count.
select
  id,
  state,
  stream,
  sequence,
  partition,
  left(subject, 500) as subject,
  left(reason, 1000) as reason,
  stored_at,
  recorded_at,
  tries,
  failed_at,
  retried_at,
  resolved_at
from control.dead_letter
where resolution is null
  and generation <= (select id from control.generation where state = 'live')
order by id desc
limit $1
