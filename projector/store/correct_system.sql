-- Gives up to $3 calls of a phone system ($2) the time of a correction ($5) if they changed at $4 or later. Those that have it are left out, so the
-- statement is repeated until it changes less. Nothing is changed where the partition is not at the position ($6, $7): another projector may write
-- it.
update call_log c
set updated_at = $5
from (
  select id
  from call_log
  where partition = $1
    and system_id = $2
    and updated_at >= $4
    and updated_at < $5
  order by system_id, updated_at, id
  limit $3
) due
where c.partition = $1
  and c.system_id = $2
  and c.id = due.id
  and exists (select from position p where p.partition = $1 and p.epoch = $6 and p.sequence = $7)
