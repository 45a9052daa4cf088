select
  s.id,
  s.name
from projection.phone_system s
where s.id = $1
order by s.name, s.id
