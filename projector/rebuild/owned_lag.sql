-- The age in seconds of the watermark of every partition in $1. A partition that was just claimed for the first time has no watermark yet.
select p.partition, p.watermark, extract(epoch from clock_timestamp() - p.watermark)::float8
from projection.position p
where p.partition = any ($1::smallint[])
  and p.watermark > to_timestamp(0)
