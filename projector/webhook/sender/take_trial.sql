-- Takes the oldest test that no sender has taken, and returns it with the secrets that sign it, the newest first. A test whose command
-- no longer waits is left.
with taken as (
  update webhook.test
  set taken_at = now()
  where id = (
    select id
    from webhook.test
    where taken_at is null
      and requested_at > now() - interval '1 minute'
    order by requested_at
    limit 1
    for update skip locked
  )
  returning *
)
select
  t.id,
  coalesce(t.endpoint_id, t.id),
  t.url,
  t.kind,
  case when t.endpoint_id is null then array[t.secret_id] else s.ids end,
  case when t.endpoint_id is null then array[t.sealed] else s.sealed end,
  case when t.endpoint_id is null then array[t.key_id] else s.key_ids end
from taken t
cross join lateral (
  select
    array_agg(id order by created_at desc, id)     as ids,
    array_agg(sealed order by created_at desc, id) as sealed,
    array_agg(key_id order by created_at desc, id) as key_ids
  from webhook.secret
  where endpoint_id = t.endpoint_id
    and (expires_at is null or expires_at > now())
) s
