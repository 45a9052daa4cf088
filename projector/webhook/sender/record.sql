-- Records attempts ($4) with what becomes of their deliveries. A delivery that ended meanwhile stays as it is, and so does another event that has
-- got the id since: a failover that loses commits also sets the sequence of ids back.
update webhook.delivery d
set
  attempts = case when jsonb_array_length(d.attempts) < 32 then d.attempts else d.attempts - 0 end || a.attempt,
  tries = d.tries + 1,
  state = a.state,
  due_at = a.due_at,
  expires_at = a.expires_at,
  finished_at = case a.state when 'waiting' then 'infinity' else now() end
from unnest($1::bigint[], $2::uuid[], $3::text[], $4::jsonb[], $5::text[], $6::timestamptz[], $7::timestamptz[])
  a (delivery_id, endpoint_id, event_id, attempt, state, due_at, expires_at)
where d.finished_at = 'infinity'
  and d.id = a.delivery_id
  and d.endpoint_id = a.endpoint_id
  and d.event_id = a.event_id
