select first_sequence, last_sequence, last_stored_at, clock, messages
from control.clock_cap
where stream = $1
  and stream_created = $2
  and partition = $3
  and last_sequence > $4
order by first_sequence
