-- Of the partitions that have a position. The clock is the one that readers compare with.
select
  partition,
  greatest(extract(epoch from clock_timestamp() - watermark), 0)::float8
from projection.position
