select
  {{columns}},
  r.origin,
  r.country,
  r.is_primary
from projection.phone_number r
where r.system_id = $1
