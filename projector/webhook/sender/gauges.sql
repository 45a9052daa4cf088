-- What waits: deliveries, dead ones, for how many seconds the oldest due delivery has been due of an active endpoint that does
-- not fail, and the endpoints by state.
select
  (select count(*) from webhook.waiting),
  (select count(*) from webhook.finished where state = 'dead'),
  coalesce((
    select extract(epoch from now() - min(d.due_at))
    from webhook.endpoint e
    cross join lateral (
      select due_at
      from webhook.waiting
      where endpoint_id = e.id
      order by due_at
      limit 1
    ) d
    where e.state = 'active'
      and e.failing_since is null
      and d.due_at < now()
  ), 0)::float8,
  (select count(*) from webhook.endpoint where state = 'adding'),
  (select count(*) from webhook.endpoint where state = 'active'),
  (select count(*) from webhook.endpoint where state = 'paused'),
  (select count(*) from webhook.endpoint where state = 'disabled')
