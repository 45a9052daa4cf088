select * from unnest($1::uuid[], $2::uuid[])
union
select c.system_id, c.call_group_id
from call_log as c
join unnest($3::uuid[], $4::uuid[]) as k (system_id, id) using (system_id, id)
