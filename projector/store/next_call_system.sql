-- The phone system after $1 that is next and has calls, and its partition.
select system_id, partition
from call_log
where system_id > $1
order by system_id, id, partition
limit 1
