select
  s.id,
  s.name
from projection.phone_system s
where s.organization_id = $1
order by s.name, s.id
