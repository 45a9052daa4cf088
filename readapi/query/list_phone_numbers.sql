select
  r.id,
  r.system_id,
  r.phone_number,
  r.label,
  r.status,
  r.created_at,
  r.updated_at
from projection.phone_number r
where r.partition = $1
  and r.system_id = $2
