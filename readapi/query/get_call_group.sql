select
  {{columns}},
  r.members,
  r.ring_pattern,
  r.unanswered_action,
  r.voicemail_greeting
from projection.call_group r
where r.partition = $1
  and r.system_id = $2
