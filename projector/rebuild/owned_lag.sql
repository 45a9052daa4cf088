-- The age in seconds of the watermark of every partition that a projector owns. A partition that was just claimed for the first time
-- has no watermark yet.
select p.partition, p.watermark, extract(epoch from clock_timestamp() - p.watermark)::float8
from projection.position p
join control.partition_owner using (partition)
where p.watermark > to_timestamp(0)
