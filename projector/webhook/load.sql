-- The next deliveries of endpoints ($1), $2 of each at most: the oldest one where $3 says so, else those that are due.
select
  d.id, d.endpoint_id, d.event_id, d.kind, d.system_id, d.call_sid, coalesce(d.recording_sid, ''), d.call_log_id, d.voicemail_id, d.at, d.cause,
  d.attempts, d.due_at, d.expires_at
from unnest($1::uuid[], $2::integer[], $3::boolean[]) e (id, count, oldest)
cross join lateral (
  (
    select *
    from webhook.delivery
    where endpoint_id = e.id
      and due_at <= now()
      and not e.oldest
    order by due_at, id
    limit e.count
  )
  union all
  (
    select *
    from webhook.delivery
    where endpoint_id = e.id
      and e.oldest
    order by id
    limit e.count
  )
) d
