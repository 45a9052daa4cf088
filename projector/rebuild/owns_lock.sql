-- Tells whether a session ($1) holds the lock of operations ($2) on this server.
select exists (
  select
  from pg_locks
  where locktype = 'advisory'
    and objsubid = 1
    and (classid::bigint << 32 | objid::bigint) = $2
    and database = (select oid from pg_database where datname = current_database())
    and pid = $1
    and granted
)
