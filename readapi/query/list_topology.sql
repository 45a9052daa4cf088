select
  r.row,
  r.created_at,
  r.id
from projection.topology r
where r.partition = $1
  and r.system_id = $2
  and r.kind = '{{kind}}'
