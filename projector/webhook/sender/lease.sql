-- Leases up to $3 endpoints that have deliveries to send: among $1, and where $2 says so among all. It returns their ids. A lease is free when its
-- time is over, or its session is gone. The endpoints with deliveries are found one after the other in the index of these. The leases of a server
-- that has crashed are gone with the sessions, so nothing waits until a lease is on disk.
with recursive waiting (id) as (
  (select endpoint_id from webhook.waiting where $2 order by endpoint_id limit 1)
  union all
  select (select endpoint_id from webhook.waiting where endpoint_id > w.id order by endpoint_id limit 1)
  from waiting w
  where w.id is not null
),
session (pid) as materialized (
  select pid
  from pg_stat_activity
  where datname = current_database()
),
free as (
  select e.id
  from webhook.endpoint e
  cross join (select set_config('synchronous_commit', 'off', true)) relaxed
  where e.id in (select unnest($1::uuid[]) union select id from waiting)
    and e.state = 'active'
    and (
      e.leased_until is null
      or e.leased_until <= now()
      or e.leased_by = pg_backend_pid()
      or e.leased_by not in (select pid from session)
    )
    and case when e.probe_at is null
      then exists (select from webhook.waiting where endpoint_id = e.id and due_at <= now())
      else e.probe_at <= now()
    end
  limit $3
  for no key update of e skip locked
)
update webhook.endpoint e
set leased_by = pg_backend_pid(), leased_until = now() + $4::interval
from free
where e.id = free.id
returning e.id
