select
  r.id,
  r.system_id,
  r.call_sid,
  r.parent_call_sid,
  r.direction,
  r.status,
  r.outcome,
  coalesce(r.from_party, '') as from_party,
  r.from_name,
  coalesce(r.to_party, '') as to_party,
  r.created_at,
  r.start_time,
  r.end_time,
  r.duration,
  r.recording_sid,
  r.recording_duration
from projection.call_log r
where r.partition = $1
  and r.system_id = $2
