-- Records attempts ($4) of deliveries that ended meanwhile: an operator has skipped them. Those that this transaction ended have theirs.
update webhook.delivery d
set attempts = case when jsonb_array_length(d.attempts) < 32 then d.attempts else d.attempts - 0 end || a.attempt
from unnest($1::bigint[], $2::uuid[], $3::text[], $4::jsonb[]) a (delivery_id, endpoint_id, event_id, attempt)
where d.finished_at > now() - interval '1 hour' -- leaves out older days
  and d.finished_at not in (now(), 'infinity')
  and d.id = a.delivery_id
  and d.endpoint_id = a.endpoint_id
  and d.event_id = a.event_id
