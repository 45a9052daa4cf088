select * from unnest($2::uuid[], $3::text[])
union
select r.system_id, r.recording_sid
from recording as r
join unnest($4::uuid[], $5::uuid[]) as k (system_id, owner_id) using (system_id, owner_id)
where r.partition = $1
