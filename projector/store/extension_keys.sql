select * from unnest($2::uuid[], $3::uuid[])
union
select c.system_id, unnest(array[c.answered_by_extension_id, c.from_extension_id])
from call_log as c
join unnest($4::uuid[], $5::uuid[]) as k (system_id, id) using (system_id, id)
where c.partition = $1
