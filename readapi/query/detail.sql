-- One row; a row of nulls if only the phone system exists. $1 partition, $2 system, $3 the row's id, $4 the extension that the API key is narrowed to.
select
  coalesce(w.watermark, 'epoch') as watermark,
  w.partition,
  w.sequence,
  p.*
from projection.phone_system s
left join projection.position w on w.partition = $1
left join ({{rows}}) p on true
where s.partition = $1
  and s.id = $2
