select
  {{columns}},
  r.assigned_phones,
  r.unanswered_action,
  r.voicemail_greeting
from projection.extension r
where r.partition = $1
  and r.system_id = $2
