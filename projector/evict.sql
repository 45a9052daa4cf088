-- Ends the sessions that own partitions and have been silent for $2: an owner asks for its locks with every tick. $1 the class of the
-- locks; a lock of two keys has objsubid 2. Only sessions of one's own role are seen and ended.
select count(pg_terminate_backend(a.pid))
from pg_stat_activity a
where a.pid in (
    select l.pid
    from pg_locks l
    where l.locktype = 'advisory'
      and l.classid = $1::bigint::oid
      and l.objsubid = 2
      and l.granted
      and l.database = (select oid from pg_database where datname = current_database())
  )
  and a.pid <> pg_backend_pid()
  and a.state_change < clock_timestamp() - $2::interval
