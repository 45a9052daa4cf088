select key
from unnest($2::int[]) as key
where pg_try_advisory_lock($1, key)
