select
  r.id,
  r.system_id,
  r.name,
  r.agent_number,
  r.status,
  r.created_at,
  r.updated_at
from projection.agent_config r
where r.partition = $1
  and r.system_id = $2
