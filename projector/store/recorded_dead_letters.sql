-- The dead letters above a position: of the generation that asks, whose schema is named after it, and of those up to the live one.
-- Generations between the two have separate dead letters. Failed retries have no generation: only the live one records them, and every
-- later application repeats them.
with generations as (
  select
    id as live,
    case current_schema()
      when 'projection' then id
      else substring(current_schema() from '[0-9]+$')::bigint
    end as current
  from control.generation
  where state = 'live'
)
select d.sequence, d.stored_at, d.reason
from control.dead_letter d
cross join generations g
where d.stream = $1
  and d.partition = $2
  and d.sequence > $3
  and (d.generation <= least(g.current, g.live) or d.generation = g.current)
union all
select f.sequence, f.stored_at, f.reason
from control.dead_letter d
cross join lateral jsonb_to_recordset(d.failures) as f (sequence bigint, stored_at timestamptz, reason text)
where d.stream = $1
  and d.partition = $2
  and d.tries > 0
  and f.sequence > $3
