select partition, sequence, clock
from control.clock_adjustment
where stream = $1
  and stream_created = $2
