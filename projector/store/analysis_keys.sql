select * from unnest($2::uuid[], $3::uuid[])
union
select a.system_id, a.id
from analysis as a
join unnest($4::uuid[], $5::uuid[]) as k (system_id, call_id) using (system_id, call_id)
where a.partition = $1
