-- A row of a kind of topology; null if only the phone system exists.
-- $1 partition, $2 system, $3 the row's id, $4 its kind.
select
  coalesce(w.watermark, 'epoch') as watermark,
  r.detail
from projection.phone_system s
left join projection.position w on w.partition = $1
left join projection.topology r on r.partition = $1 and r.system_id = $2 and r.id = $3 and r.kind = $4
where s.partition = $1
  and s.id = $2
