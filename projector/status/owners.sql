-- $1 the projector's class of advisory locks. A lock of two keys has objsubid 2.
select
  l.objid::bigint,
  a.application_name
from pg_locks l
join pg_stat_activity a using (pid)
where l.locktype = 'advisory'
  and l.classid = $1::bigint::oid
  and l.objsubid = 2
  and l.granted
  and l.database = (select oid from pg_database where datname = current_database())
