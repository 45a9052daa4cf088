-- Terminates a session ($2) that owns locks of the class $1, unless it has sent a statement since $3.
select coalesce(bool_or(pg_terminate_backend(pid)), false)
from (
{{other_owners}}
) as other_owner
where pid = $2
  and state_change = $3
