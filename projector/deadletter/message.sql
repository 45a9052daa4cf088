-- $1 the ID. A retry that was published is waited for until the position has passed it.
with live as materialized (
  select partition, stream, sequence
  from projection.position
)
select
  d.sequence,
  d.stored_at,
  d.subject,
  d.header,
  d.data,
  d.tries,
  d.resolution is null as open,
  d.retry_sequence is not null and coalesce(p.sequence < d.retry_sequence, true) as published
from control.dead_letter d
left join live p
  on p.partition = d.partition
  and p.stream = d.stream
where d.id = $1
