-- Terminates a session ($2) that owns locks of the class $1, unless it has sent a statement since $3.
select coalesce(bool_or(pg_terminate_backend(pid)), false)
from (
  select distinct a.pid
  from pg_locks l
  join pg_stat_activity a using (pid)
  where l.locktype = 'advisory'
    and l.classid = $1::bigint::oid
    and l.objsubid = 2
    and l.objid::bigint < 2147483648 -- who fans out webhooks holds -1 of the class, and owns nothing
    and l.granted
    and l.database = (select oid from pg_database where datname = current_database())
    and a.pid = $2
    and a.state_change = $3
) as silent
