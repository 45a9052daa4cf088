-- How far a partition is behind, in seconds. No row: no event has reached it.
select extract(epoch from now() - w.watermark)::float8
from projection.position w
where w.partition = $1
  and w.watermark > to_timestamp(0)
