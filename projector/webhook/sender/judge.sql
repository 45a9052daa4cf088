-- Disables endpoints: those that answered 410 ($1), and of some ($2; null: all) those without a success for $3 whose last $4 attempts or more
-- failed. It returns them, and leaves out those that others have locked.
with judged as (
  select id, case when id = any ($1) then 'gone' else 'failing' end as reason
  from webhook.endpoint
  where state = 'active'
    and ($2::uuid[] is null or id = any ($2))
    and (id = any ($1) or failures >= $4 and failing_since <= now() - $3::interval)
  for no key update skip locked
),
disabled as (
  update webhook.endpoint e
  set state = 'disabled', reason = j.reason, stopped_at = now()
  from judged j
  where e.id = j.id
),
audited as (
  insert into webhook.audit (by, command, endpoint_id, before, after)
  select 'sender', 'disable', id, '{"state": "active"}', jsonb_build_object('state', 'disabled', 'reason', reason)
  from judged
)
select id, reason
from judged
