-- Up to $3 calls of a phone system ($1) that refer to one of some directory entries ($2).
select id
from %[1]s.call_log
where system_id = $1
  and (call_group_id = any ($2)
    or answered_by_extension_id = any ($2)
    or from_extension_id = any ($2)
    or representative_id = any ($2))
limit $3
