-- Whoever rolls any key of a lineage waits here for whoever else does.
select
from access.key
where lineage = (select lineage from access.key where id = $1)
order by id
for update
