-- The corrections of a partition with a time after $3.
select system_id, clock
from control.correction
where stream = $1
  and partition = $2
  and clock > $3
