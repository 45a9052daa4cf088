-- $1 the definition of this release. A part that is done has its number of read messages.
select
  g.id,
  g.state,
  g.started_at,
  g.switched_at,
  g.definition = $1 as current,
  parts.done as parts_done,
  parts.all as parts
from control.generation g
cross join lateral (
  select
    count(p.read) as done,
    count(*)      as all
  from control.generation_part p
  where p.generation = g.id
) parts
where g.state <> 'dropped'
order by g.id desc
