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
)
update webhook.delivery d
set attempts = d.attempts + 1, due_at = a.due_at, expires_at = a.expires_at
from attempted a
where d.id = a.delivery_id
  and d.endpoint_id = a.endpoint_id
  and d.event_id = a.event_id
  and a.state is null
