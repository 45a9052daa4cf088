select * from unnest($2::uuid[], $3::uuid[])
union
select c.system_id, c.call_group_id
from call_log as c
join unnest($4::uuid[], $5::uuid[]) as k (system_id, id) using (system_id, id)
where c.partition = $1
