-- How many endpoints a sender leases at most: an equal share of those that are active. The senders are the sessions with leases that have sent a
-- statement within the time of a lease ($1).
select (e.active + s.senders - 1) / s.senders
from (
  select count(*) as active
  from webhook.endpoint
  where state = 'active'
) e
cross join (
  select greatest(count(*), 1) as senders
  from pg_stat_activity
  where datname = current_database()
    and application_name like 'leases:%'
    and state_change > now() - $1::interval
) s
