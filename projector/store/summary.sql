-- Dead letters of a generation that is being built do not count.
select
  g.id,
  (select count(*) from control.dead_letter d where d.resolution is null and d.generation <= g.id)
from control.generation g
where g.state = 'live'
