-- Deletes the audit and the rows of endpoints that were removed before $1, and tests for whose outcome nobody waits
-- any more.
with old as materialized (
  select id
  from webhook.endpoint e
  where state = 'removed'
    and stopped_at < $1
    and not exists (select from webhook.waiting where endpoint_id = e.id)
),
test as (
  delete from webhook.test
  where requested_at < now() - interval '1 hour'
),
audit as (
  delete from webhook.audit
  where endpoint_id in (select id from old)
)
delete from webhook.endpoint
where id in (select id from old)
