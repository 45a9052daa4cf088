-- One with sequence 0 is about all messages.
select sequence, clock
from control.clock_adjustment
where stream = $1
  and stream_created = $2
  and partition = $3
  and (sequence > $4 or sequence = $4 and $4 = 0)
