select
  r.id,
  r.system_id,
  r.name,
  r.status,
  r.created_at,
  r.updated_at,
  r.hardware,
  r.device_role,
  r.parent_phone_id,
  r.slot,
  r.mac_address,
  r.firmware,
  r.extension_id
from projection.phone r
where r.system_id = $1
