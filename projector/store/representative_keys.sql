-- Only analyses attribute calls to representatives.
select * from unnest($1::uuid[], $2::uuid[])
union
select a.system_id, a.representative_id
from analysis as a
join unnest($3::uuid[], $4::uuid[]) as k (system_id, call_id) using (system_id, call_id)
