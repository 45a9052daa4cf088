-- Endpoints with statistics of their deliveries, the newest first, as JSON: one ($1), with its valid secrets and its newest changes, or all (null).
-- Rate and times are of the attempts of 24 hours, of the ten thousand deliveries that ended last, and of as many that wait. Times are those of
-- successful attempts: one that timed out says nothing about how fast the receiver is.
select json_build_object(
  'id', e.id,
  'name', e.name,
  'url', e.url,
  'kinds', e.kinds,
  'grant', json_build_object('kind', e.grant_kind, 'id', e.grant_id),
  'state', e.state,
  'reason', e.reason,
  'concurrency', e.concurrency,
  'lastSuccessAt', e.succeeded_at,
  'lastFailureAt', e.failed_at,
  'createdAt', e.created_at,
  'waiting', (select count(*) from webhook.waiting d where d.endpoint_id = e.id),
  'dead', (select count(*) from webhook.finished f where f.endpoint_id = e.id and f.state = 'dead'),
  'successRate', recent.success_rate,
  'p50Ms', recent.p50,
  'p99Ms', recent.p99,
  'secrets', (
    select coalesce(json_agg(json_build_object('id', s->'id', 'createdAt', s->'created_at', 'expiresAt', s->'expires_at') order by n), '[]')
    from jsonb_array_elements(e.secrets) with ordinality secret (s, n)
    where e.id = $1
      and (s->'expires_at' is null or (s->>'expires_at')::timestamptz > now())
  ),
  'audit', (
    select coalesce(json_agg(change), '[]')
    from (
      select at, role, by, command, before, after
      from webhook.audit
      where endpoint_id = $1
      order by at desc, id desc
      limit 20
    ) change
  )
)
from webhook.endpoint e
cross join lateral (
  select
    count(*) filter (where a.error is null)::float8 / nullif(count(*), 0) as success_rate,
    percentile_disc(0.5) within group (order by a.ms) filter (where a.error is null) as p50,
    percentile_disc(0.99) within group (order by a.ms) filter (where a.error is null) as p99
  from (
    (
      select attempts
      from webhook.finished
      where endpoint_id = e.id
        and finished_at > now() - interval '24 hours'
      order by finished_at desc
      limit 10000
    )
    union all
    (
      select attempts
      from webhook.waiting
      where endpoint_id = e.id
      order by due_at desc -- deliveries that have failed are due later than others
      limit 10000
    )
  ) d
  cross join lateral jsonb_to_recordset(d.attempts) a (at timestamptz, error text, ms integer)
  where a.at > now() - interval '24 hours'
) recent
where $1::uuid is null
   or e.id = $1
order by e.created_at desc, e.id desc
