select
  r.id,
  r.system_id,
  r.name,
  r.number,
  r.status,
  r.created_at,
  r.updated_at,
  r.members,
  r.ring_pattern,
  r.unanswered_action,
  r.voicemail_greeting
from projection.call_group r
where r.system_id = $1
