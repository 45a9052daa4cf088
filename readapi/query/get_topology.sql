select
  r.detail
from projection.topology r
where r.partition = $1
  and r.system_id = $2
  and r.kind = '{{kind}}'
