-- $1 partition, $2 system.
select
  s.id,
  s.name
from projection.phone_system s
where s.partition = $1
  and s.id = $2
order by s.name, s.id
