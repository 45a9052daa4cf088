-- $1 the stream's name, $2 its creation time.
select
  count(*),
  coalesce(min(sequence), 0),
  coalesce(bool_or(stream <> $1 or stream_created <> $2), false)
from projection.position
