-- $1 the IDs.
select
  d.id,
  d.partition,
  d.partition in (select o.partition from control.partition_owner o) as owned,
  coalesce(p.sequence < d.retry_sequence, true) as above_position
from control.dead_letter d
left join projection.position p on p.partition = d.partition
where d.id = any ($1)
