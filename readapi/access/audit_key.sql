-- A key's ($1) newest requests. That the key is compared and ordered as half of a pair, and not as being equal, leaves one index
-- to walk: the one by key and time. Left the choice, the planner walks a busy key's days by time alone, past all other keys.
select
  id,
  at,
  operation,
  system_id,
  status,
  code,
  address,
  request_id
from access.audit
where (key_id, at) >= ($1, $2)
  and (key_id, at) <= ($1, 'infinity')
  and at >= $2
order by key_id desc, at desc, id desc
limit $3
