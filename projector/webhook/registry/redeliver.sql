-- Makes waiting deliveries among $1 due now, moves finished ones back to those that wait, under their ids, and records that $2 did it. It returns
-- the ids that no delivery has.
with waiting as (
  update webhook.delivery
  set due_at = least(due_at, now())
  where id = any ($1)
  returning id
),
moved as (
  delete from webhook.finished
  where id = any ($1)
  returning *
),
back as (
  insert into webhook.delivery (
    id, endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
    traceparent, cause, created_at
  )
  select
    id, endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
    traceparent, 'redelivered', created_at
  from moved
),
audited as (
  insert into webhook.audit (by, command, endpoint_id, after)
  select $2, 'redeliver', endpoint_id, jsonb_build_object('deliveries', count(*))
  from moved
  group by endpoint_id
)
select id::text
from unnest($1::bigint[]) id
where id not in (select id from waiting union all select id from moved)
order by id
