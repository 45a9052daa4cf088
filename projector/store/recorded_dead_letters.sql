-- The dead letters above a position, and the retries after a retry number: of the generation that asks, whose schema is named after it,
-- and of those up to the live one. Generations between the two have separate dead letters.
with generations as (
  select
    id as live,
    case current_schema()
      when 'projection' then id
      else substring(current_schema() from '[0-9]+$')::bigint
    end as own
  from control.generation
  where state = 'live'
)
select d.sequence, d.reason, d.retry_seq, d.retry_position, d.retry_clock, d.subject, d.header, d.data, d.stored_at
from control.dead_letter d
cross join generations g
where d.stream = $1
  and d.stream_created = $2
  and d.partition = $3
  and (d.generation <= least(g.own, g.live) or d.generation = g.own)
  and (d.sequence > $4 or d.retry_seq > $5)
order by d.retry_seq
