-- Deletes the audit, the secrets and the rows of endpoints that were removed before $1.
with old as materialized (
  select id
  from webhook.endpoint e
  where state = 'removed'
    and stopped_at < $1
    and not exists (select from webhook.delivery where endpoint_id = e.id)
),
audit as (
  delete from webhook.audit
  where endpoint_id in (select id from old)
)
delete from webhook.endpoint
where id in (select id from old)
