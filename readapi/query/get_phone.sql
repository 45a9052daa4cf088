select
  {{columns}},
  r.hardware,
  r.device_role,
  r.parent_phone_id,
  r.slot,
  r.mac_address,
  r.firmware,
  r.extension_id
from projection.phone r
where r.partition = $1
  and r.system_id = $2
