-- A recording of a call; a row of nulls if only the phone system exists.
-- $1 partition, $2 system, $3 the recording's sid.
select
  coalesce(w.watermark, 'epoch') as watermark,
  r.recording_sid as id,
  r.system_id,
  r.owner_id as call_log_id,
  r.call_sid,
  r.status,
  r.duration,
  r.created_at
from projection.phone_system s
left join projection.position w on w.partition = $1
left join projection.recording r on r.partition = $1
  and r.system_id = $2
  and r.recording_sid = $3
  and r.call_sid is not null
  and r.status <> 'unavailable'
where s.partition = $1
  and s.id = $2
