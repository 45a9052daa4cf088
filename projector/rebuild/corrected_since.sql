select system_id
from control.correction
where stream = $1
  and recorded_at > $2
