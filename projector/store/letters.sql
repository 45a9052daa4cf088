-- What is known of the messages above a position, and of the retries behind a turn.
select sequence, reason, turn, position, clock, subject, header, data, stored_at
from control.dead_letter
where stream = $1
  and stream_created = $2
  and partition = $3
  and generation <= (select id from generation)
  and (sequence > $4 or turn > $5)
order by turn
