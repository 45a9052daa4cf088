select
  r.id,
  r.system_id,
  r.name,
  r.status,
  r.created_at,
  r.updated_at
from projection.call_menu r
where r.partition = $1
  and r.system_id = $2
