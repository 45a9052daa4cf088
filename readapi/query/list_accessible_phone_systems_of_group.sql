select
  s.id,
  s.name
from projection.phone_system_group g
join projection.phone_system s on s.id = any (g.phone_system_ids)
where g.id = $1
order by s.name, s.id
