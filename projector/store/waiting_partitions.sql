-- The partitions with dead letters whose retry is requested.
select distinct partition
from control.dead_letter
where stream = $1
  and stream_created = $2
  and partition = any ($3::smallint[])
  and retry_requested_at is not null
  and generation <= (select id from generation)
