-- The corrections of a partition with a time after $4.
select system_id, clock
from control.correction
where stream = $1
  and stream_created = $2
  and partition = $3
  and clock > $4
