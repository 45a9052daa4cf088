-- The other sessions that own locks of the class $1, and when each has last sent a statement: an owner sends some all the time. Only sessions
-- of the same role qualify, since state_change is null for others.
select distinct a.pid, a.application_name, a.state_change
from pg_locks l
join pg_stat_activity a using (pid)
where l.locktype = 'advisory'
  and l.classid = $1::bigint::oid
  and l.objsubid = 2
  and l.granted
  and l.database = (select oid from pg_database where datname = current_database())
  and a.pid <> pg_backend_pid()
  and a.state_change is not null
