-- Deliveries of an endpoint ($1) with their attempts, the newest first: up to $6 in a state ($2), created since $3, of a kind ($4) and a call
-- ($5). Empty texts select all. What was created since an instant can't have ended before it, which leaves out older days.
with page as (
  select *
  from (
    select
      id, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, 'waiting' as state, due_at as next_at, cause, created_at
    from webhook.delivery
    where endpoint_id = $1
    union all
    select id, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, state, null, cause, created_at
    from webhook.finished
    where endpoint_id = $1
      and finished_at >= $3
  ) d
  where ($2 = '' or state = $2)
    and created_at >= $3
    and ($4 = '' or kind = $4)
    and ($5 = '' or call_sid = $5)
  order by id desc
  limit $6
)
select
  page.*,
  (
    select coalesce(
      json_agg(json_build_object('at', a.at, 'status', a.status, 'error', a.error, 'answer', a.answer, 'ms', a.ms) order by a.at), '[]')::text
    from webhook.attempt a
    where a.delivery_id = page.id
      and a.at >= page.created_at - interval '1 hour' -- leaves out older days; the clocks of sender and database can differ
  ) as attempts
from page
order by page.id desc
