-- The newest recording of a call ($1 its phone system) that can be played.
select recording_sid
from projection.recording
where system_id = $1
  and status = 'ready'
  and owner = 'call'
order by created_at desc
limit 1
