-- $1 the ids, $2 the projector's class of advisory locks. A lock of two keys has objsubid 2.
with owned as materialized (
  select l.objid::bigint as partition
  from pg_locks l
  where l.locktype = 'advisory'
    and l.classid = $2::bigint::oid
    and l.objsubid = 2
    and l.granted
    and l.database = (select oid from pg_database where datname = current_database())
)
select
  d.id,
  d.partition,
  exists (select from owned o where o.partition = d.partition) as owned,
  coalesce(p.sequence < d.sequence, true) as behind
from control.dead_letter d
left join projection.position p on p.partition = d.partition
where d.id = any ($1)
