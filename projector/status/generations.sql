-- $1 the definition of this release.
select
  g.id,
  g.state,
  g.started_at,
  g.switched_at,
  g.definition = $1 as current
from control.generation g
where g.state <> 'dropped'
order by g.id desc
