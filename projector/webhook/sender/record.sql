-- Records attempts, whose columns are $1 to $11. A delivery that an operator has skipped meanwhile stays as it is, and so does another event that
-- has got the id since: a failover that loses commits also sets the sequence of ids back.
with attempted as materialized (
  select *
  from unnest(
    $1::bigint[], $2::uuid[], $3::text[], $4::timestamptz[], $5::smallint[], $6::text[], $7::text[], $8::integer[], $9::text[],
    $10::timestamptz[], $11::timestamptz[]
  ) a (delivery_id, endpoint_id, event_id, at, status, error, answer, ms, state, due_at, expires_at)
),
attempt as (
  insert into webhook.attempt (endpoint_id, delivery_id, at, status, error, answer, ms)
  select endpoint_id, delivery_id, at, status, error, answer, ms
  from attempted a
  where not exists (
    select
    from webhook.waiting
    where id = a.delivery_id
      and (endpoint_id, event_id) <> (a.endpoint_id, a.event_id)
  )
)
update webhook.delivery d
set
  attempts = d.attempts + 1,
  due_at = coalesce(a.due_at, d.due_at),
  expires_at = coalesce(a.expires_at, d.expires_at),
  state = coalesce(a.state, 'waiting'),
  finished_at = case when a.state is null then 'infinity' else now() end
from attempted a
where d.finished_at = 'infinity'
  and d.id = a.delivery_id
  and d.endpoint_id = a.endpoint_id
  and d.event_id = a.event_id
