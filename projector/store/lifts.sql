select sequence, time
from control.clock_lift
where stream = $1
  and stream_created = $2
  and partition = $3
  and sequence > $4
