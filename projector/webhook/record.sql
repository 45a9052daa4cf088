-- Records attempts, whose columns are $1 to $11, and returns the endpoints that are disabled by them: those that answered 410, and those
-- without a success for $12 whose last $13 attempts or more failed. A delivery that an operator has skipped meanwhile stays as it is, and so does
-- another event that has got the id since: a failover that loses commits also sets the sequence of ids back.
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
    from webhook.delivery
    where id = a.delivery_id
      and (endpoint_id, event_id) <> (a.endpoint_id, a.event_id)
  )
),
ended as (
  delete from webhook.delivery d
  using attempted a
  where d.id = a.delivery_id
    and d.endpoint_id = a.endpoint_id
    and d.event_id = a.event_id
    and a.state is not null
  returning d.*, a.state
),
finished as (
  insert into webhook.finished (
    id, endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
    traceparent, cause, attempts, created_at, state
  )
  select
    id, endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
    traceparent, cause, attempts + 1, created_at, state
  from ended
),
postponed as (
  update webhook.delivery d
  set attempts = d.attempts + 1, due_at = a.due_at, expires_at = a.expires_at
  from attempted a
  where d.id = a.delivery_id
    and d.endpoint_id = a.endpoint_id
    and d.event_id = a.event_id
    and a.state is null
),
success as (
  select endpoint_id, max(at) as at
  from attempted
  where error is null
  group by endpoint_id
),
failure as (
  select
    a.endpoint_id,
    max(a.at)                                                          as at,
    min(a.at) filter (where s.at is null or a.at > s.at)               as since,
    count(*) filter (where s.at is null or a.at > s.at)                as count,
    coalesce(bool_or(a.status = 410 and (s.at is null or a.at > s.at)), false) as gone
  from attempted a
  left join success s on s.endpoint_id = a.endpoint_id
  where a.error is not null
  group by a.endpoint_id
),
state as (
  select
    e.id,
    s.at as succeeded_at,
    f.at as failed_at,
    case when s.at is null then coalesce(e.failing_since, f.since) else f.since end                            as failing_since,
    case when s.at is null then e.failures + coalesce(f.count, 0) else coalesce(f.count, 0) end                as failures,
    coalesce(f.gone, false)                                                                                    as gone,
    e.state as before
  from webhook.endpoint e
  left join success s on s.endpoint_id = e.id
  left join failure f on f.endpoint_id = e.id
  where e.id = any ($2)
),
judged as (
  select
    *,
    case
      when before <> 'active' then null
      when gone then 'gone'
      when failures >= $13 and failing_since <= now() - $12::interval then 'failing'
    end as reason
  from state
),
changed as (
  update webhook.endpoint e
  set
    succeeded_at  = coalesce(j.succeeded_at, e.succeeded_at),
    failed_at     = coalesce(j.failed_at, e.failed_at),
    failing_since = j.failing_since,
    failures      = j.failures,
    state         = case when j.reason is null then e.state else 'disabled' end,
    reason        = coalesce(j.reason, e.reason),
    stopped_at    = case when j.reason is null then e.stopped_at else now() end
  from judged j
  where e.id = j.id
  returning e.id, j.reason
),
audited as (
  insert into webhook.audit (by, command, endpoint_id, before, after)
  select 'sender', 'disable', id, '{"state": "active"}', jsonb_build_object('state', 'disabled', 'reason', reason)
  from changed
  where reason is not null
)
select id, reason
from changed
where reason is not null
