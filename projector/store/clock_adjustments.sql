-- One with sequence 0 is about all messages.
select sequence, clock
from control.clock_adjustment
where stream = $1
  and partition = $2
  and (sequence > $3 or sequence = $3 and $3 = 0)
