select
  {{columns}},
  r.origin,
  r.country,
  r.is_primary
from projection.phone_number r
where r.partition = $1
  and r.system_id = $2
