-- Keys, and %[2]s of the rows of %[3]s that are given by their system and %[4]s.
select * from %[1]s
union
select r.system_id, %[2]s
from %[3]s as r
join unnest($4::uuid[], $5::uuid[]) as k (system_id, %[4]s) using (system_id, %[4]s)
where r.partition = $1
