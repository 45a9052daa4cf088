-- The watermark, for a page that waits for it.
select coalesce(w.watermark, 'epoch') as watermark
from projection.phone_system s
left join projection.position w on w.partition = s.partition
where s.id = $1
