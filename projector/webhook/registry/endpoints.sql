-- Endpoints with statistics of their deliveries, the newest first. Rate and times are of the attempts of 24 hours, of the newest hundred thousand at most. Times
-- are those of successful attempts: one that timed out says nothing about how fast the receiver is.
select
  e.id,
  e.name,
  e.url,
  e.kinds,
  e.grant_kind,
  e.grant_id,
  e.state,
  e.reason,
  e.concurrency,
  e.succeeded_at,
  e.failed_at,
  e.created_at,
  (select count(*) from webhook.delivery d where d.endpoint_id = e.id) as waiting,
  (select count(*) from webhook.finished f where f.endpoint_id = e.id and f.state = 'dead') as dead,
  recent.success_rate,
  recent.p50,
  recent.p99
from webhook.endpoint e
cross join lateral (
  select
    count(*) filter (where newest.error is null)::float8 / nullif(count(*), 0) as success_rate,
    percentile_disc(0.5) within group (order by newest.ms) filter (where newest.error is null) as p50,
    percentile_disc(0.99) within group (order by newest.ms) filter (where newest.error is null) as p99
  from (
    select a.error, a.ms
    from webhook.attempt a
    where a.endpoint_id = e.id
      and a.at > now() - interval '24 hours'
    order by a.at desc
    limit 100000
  ) newest
) recent
where {{condition}}
order by e.created_at desc, e.id desc
