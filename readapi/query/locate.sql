-- Whether the phone system $2 has a row in the partition $1, and the number of the generation's partitions: why a statement has found
-- nothing.
select
  coalesce(g.partitions, 0) as partitions,
  exists (
    select
    from projection.phone_system s
    where s.partition = $1
      and s.id = $2
  ) as found
from projection.generation g
