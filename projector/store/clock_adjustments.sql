select sequence, clock
from control.clock_adjustment
where stream = $1
  and stream_created = $2
  and partition = $3
  and sequence > $4
