-- The watermarks of phone systems ($1), for the pages that wait for them.
select
  s.id,
  coalesce(w.watermark, 'epoch') as watermark
from projection.phone_system s
left join projection.position w on w.partition = s.partition
where s.id = any ($1::uuid[])
