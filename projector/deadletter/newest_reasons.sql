-- $1 of how many dead letters, the newest first.
select
  reason,
  count(*) as open,
  count(*) filter (where state = 'waiting') as waiting
from (
  select
    left(reason, 1000) as reason,
    state
  from control.dead_letter
  where resolution is null
    and generation <= (select id from control.generation where state = 'live')
  order by id desc
  limit $1
) newest
group by reason
