-- The watermarks of phone systems ($2) of one partition, read from its node.
select
  s.id,
  coalesce(w.watermark, 'epoch') as watermark
from projection.phone_system s
left join projection.position w on w.partition = $1
where s.partition = $1
  and s.id = any ($2::uuid[])
