-- The other sessions that own partitions, and when each has last sent a statement: an owner sends some all the time. Only sessions of
-- the same role qualify, since state_change is null for others.
select distinct pid, application_name, state_change
from control.partition_owner
where pid <> pg_backend_pid()
  and state_change is not null
