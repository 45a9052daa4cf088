select
  r.id,
  r.system_id,
  r.name,
  r.number,
  r.status,
  r.created_at,
  r.updated_at,
  r.assigned_phones,
  r.unanswered_action,
  r.voicemail_greeting
from projection.extension r
where r.system_id = $1
