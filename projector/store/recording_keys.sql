select * from unnest($1::uuid[], $2::text[])
union
select r.system_id, r.recording_sid
from recording as r
join unnest($3::uuid[], $4::uuid[]) as k (system_id, owner_id) using (system_id, owner_id)
