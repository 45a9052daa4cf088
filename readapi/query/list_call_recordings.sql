select
  r.recording_sid as id,
  r.system_id,
  r.owner_id as call_log_id,
  r.call_sid,
  r.status,
  r.duration,
  r.created_at
from projection.recording r
where r.partition = $1
  and r.system_id = $2
  and r.call_sid is not null
  and r.status <> 'unavailable'
