-- $1 the IDs, or null for all open dead letters.
with live as materialized (
  select partition, stream
  from projection.position
)
select
  id,
  state,
  reason,
  case
    when stream is null then 'audit'
    when exists (
      select from live p
      where p.partition = d.partition
        and p.stream <> d.stream
    ) then 'stream'
    when generation > (select g.id from projection.generation g) then 'generation'
    else ''
  end as not_retryable
from control.dead_letter d
where id = any ($1::bigint[])
  or $1 is null and resolution is null
order by stream, sequence
