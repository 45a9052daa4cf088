-- Gives calls of a phone system ($2), which are named ($3), the time of a correction ($5) if they changed at $4 or later. Nothing is changed where
-- the partition is not at the position ($6, $7): another projector may write it.
update call_log
set updated_at = $5
where partition = $1
  and system_id = $2
  and id = any ($3::uuid[])
  and updated_at >= $4
  and updated_at < $5
  and exists (select from position p where p.partition = $1 and p.epoch = $6 and p.sequence = $7)
