select
  r.id,
  r.system_id,
  r.phone_number,
  r.label,
  r.status,
  r.created_at,
  r.updated_at,
  r.origin,
  r.country,
  r.is_primary
from projection.phone_number r
where r.system_id = $1
