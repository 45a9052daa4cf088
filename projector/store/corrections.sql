-- The corrections of a partition with a time after $4, in the order of their times.
select coalesce(system_id, '00000000-0000-0000-0000-000000000000'), coalesce(call_id, '00000000-0000-0000-0000-000000000000'), since, clock
from control.correction
where stream = $1
  and stream_created = $2
  and partition = $3
  and clock > $4
order by clock, id
