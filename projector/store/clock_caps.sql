select first_sequence, last_sequence, last_stored_at, clock, messages
from control.clock_cap
where stream = $1
  and partition = $2
  and last_sequence > $3
order by first_sequence
