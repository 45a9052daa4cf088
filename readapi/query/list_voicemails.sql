select
  r.id,
  r.system_id,
  r.call_sid,
  r.from_party,
  r.from_name,
  r.duration,
  r.extension_id,
  r.call_group_id,
  r.listened,
  r.archived,
  r.recording_sid,
  r.created_at
from projection.voicemail r
where r.partition = $1
  and r.system_id = $2
