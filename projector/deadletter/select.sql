-- $1 the IDs, or null for all open dead letters whose reason contains $2. $3 the name of the stream of audit entries.
with live as materialized (
  select partition, stream, stream_created
  from projection.position
)
select
  id,
  state,
  reason,
  case
    when stream = $3 then 'audit'
    when exists (
      select from live p
      where p.partition = d.partition
        and (p.stream, p.stream_created) <> (d.stream, d.stream_created)
    ) then 'stream'
    when generation > (select g.id from projection.generation g) then 'generation'
    else ''
  end as not_retryable
from control.dead_letter d
where id = any ($1::bigint[])
  or $1 is null and resolution is null and strpos(reason, $2) > 0
order by stream, stream_created, sequence
