select system_id
from control.correction
where stream = $1
  and stream_created = $2
  and recorded_at > $3
