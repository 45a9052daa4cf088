-- How far each partition of the live generation is complete. A projection without any position gives one row without a partition.
select
  g.id as generation,
  p.partition,
  p.watermark
from projection.generation g
left join projection.position p on true
