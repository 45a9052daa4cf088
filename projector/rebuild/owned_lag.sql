-- The age in seconds of the watermark of every partition that a projector owns.
select p.partition, p.watermark, extract(epoch from clock_timestamp() - p.watermark)::float8
from projection.position p
join control.partition_owner using (partition)
