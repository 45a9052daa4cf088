-- The endpoints of shards ($1) to which requests are sent, their last change by a person or a sender, and their secrets that are valid, the
-- newest first. Changes of an endpoint lock its row, so their ids in the audit rise; their times are those at which transactions began.
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
