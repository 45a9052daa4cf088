-- One row. $1 system, $2 the row's id, $3 the extension that the API key is narrowed to.
select
  coalesce(w.watermark, 'epoch') as watermark,
  w.partition,
  w.sequence,
  p.*
from projection.phone_system s
left join projection.position w on w.partition = s.partition
join ({{rows}}) p on true
where s.id = $1
