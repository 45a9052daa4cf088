select partition
from unnest($2::int[]) as partition
where pg_try_advisory_lock($1, partition)
