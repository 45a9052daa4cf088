-- $1 the stream's identity.
select
  count(*),
  coalesce(min(sequence), 0),
  coalesce(bool_or(stream <> $1), false)
from projection.position
