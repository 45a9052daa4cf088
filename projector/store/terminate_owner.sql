-- Terminates a session unless it has sent a statement meanwhile.
select coalesce(bool_or(pg_terminate_backend(pid)), false)
from (select distinct pid from control.partition_owner where pid = $1 and state_change = $2) as silent
