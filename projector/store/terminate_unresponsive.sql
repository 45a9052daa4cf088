-- Terminates the other sessions that own partitions and have sent no statement for $1: an owner sends one on every tick. Only
-- sessions of the same role qualify, since state_change is null for others.
with unresponsive as materialized (
  select distinct pid, application_name
  from control.partition_owner
  where pid <> pg_backend_pid()
    and state_change < clock_timestamp() - $1::interval
)
select pid, application_name
from unresponsive
where pg_terminate_backend(pid)
