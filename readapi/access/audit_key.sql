-- The newest requests of a key ($1). The key is compared and ordered as half of a row, not with =, so that only the index by key and
-- time fits. With =, the planner scans the days of a busy key by time, across the entries of all other keys.
select
  id,
  at,
  operation,
  system_id as system,
  status,
  code,
  address,
  request_id,
  count,
  coalesce(last_at, at) as last_at,
  coalesce(last_request_id, request_id) as last_request_id,
  addresses
from access.audit
where (key_id, at) >= ($1, $2)
  and (key_id, at) <= ($1, 'infinity')
  and at >= $2
order by key_id desc, at desc, id desc
limit $3
