-- $1 a text that the reason contains.
select
  reason,
  count(*) as open,
  count(*) filter (where state = 'waiting') as waiting
from control.dead_letter
where resolution is null
  and strpos(reason, $1) > 0
group by reason
