-- Deliveries of an endpoint ($1) with their attempts, the newest first, as JSON: up to $6 in a state ($2), created since $3, of a kind ($4) and a call
-- ($5). Empty texts select all. What was created since an instant can't have ended before it, which leaves out older days.
with page as (
  select *
  from webhook.delivery
  where endpoint_id = $1
    and finished_at >= $3
    and created_at >= $3
    and ($2 = '' or state = $2)
    and ($4 = '' or kind = $4)
    and ($5 = '' or call_sid = $5)
  order by id desc
  limit $6
)
select json_build_object(
  'delivery', page.id::text,
  'event', page.event_id,
  'kind', page.kind,
  'identifiers', json_build_object(
    'phoneSystemId', page.system_id, 'callSid', page.call_sid, 'recordingSid', page.recording_sid, 'callLogId', page.call_log_id,
    'voicemailId', page.voicemail_id),
  'state', page.state,
  'nextAt', case page.state when 'waiting' then page.due_at end,
  'cause', page.cause,
  'createdAt', page.created_at,
  'attempts', page.attempts
)
from page
order by page.id desc
