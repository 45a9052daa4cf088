-- Serializes rolls of the keys of one lineage.
select
from access.key
where lineage = (select lineage from access.key where id = $1)
order by id
for update
