-- $1 the IDs. $2 and $3 are the positions by partition, which are read before: they can be on nodes, which do not have the view of owners.
select
  d.id,
  d.partition,
  d.partition in (select o.partition from control.partition_owner o) as owned,
  coalesce(p.sequence < d.retry_sequence, true) as above_position
from control.dead_letter d
left join unnest($2::smallint[], $3::bigint[]) p (partition, sequence) using (partition)
where d.id = any ($1)
