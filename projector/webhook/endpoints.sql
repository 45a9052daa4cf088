-- The endpoints of shards ($1) to which requests are sent, the id of their last change in the audit, and their secrets that are valid, the
-- newest first. A change locks the row of the endpoint, so ids rise in the order of the commits. Its time is the start of its transaction.
select
  e.id,
  e.shard,
  e.url,
  e.concurrency,
  coalesce((select max(a.id) from webhook.audit a where a.endpoint_id = e.id), 0),
  s.ids,
  s.sealed,
  s.key_ids
from webhook.endpoint e
cross join lateral (
  select
    coalesce(array_agg(id order by created_at desc, id), '{}')     as ids,
    coalesce(array_agg(sealed order by created_at desc, id), '{}') as sealed,
    coalesce(array_agg(key_id order by created_at desc, id), '{}') as key_ids
  from webhook.secret
  where endpoint_id = e.id
    and (expires_at is null or expires_at > now())
) s
where e.shard = any ($1::smallint[])
  and e.state = 'active'
