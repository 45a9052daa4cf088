-- The adjustments of messages above a position. A capped one may begin below it. A forward one of sequence 0 is about all messages.
select capped, first_sequence, last_sequence, coalesce(last_stored_at, 'epoch'), clock, messages
from control.clock_adjustment
where stream = $1
  and partition = $2
  and (last_sequence > $3 or $3 = 0)
