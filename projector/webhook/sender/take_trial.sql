-- Takes the oldest test that no sender has taken. A test whose command no longer waits is left.
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
returning id, endpoint_id, url, kind, secrets
