-- A page of the few rows that filters select, newest first. The statement counts them. The offset keeps the window and the order out of
-- the choice of the index: the filters' index has few rows, the window's can have all.
-- $1 partition, $2 system, $3 from, $4 until, $5 rows to skip, $6 rows to return, $7 and above the filters' values.
with
  selected as (
    select r.*
    from ({{rows}}  offset 0) r
    where r.created_at >= $3
      and r.created_at < $4
  ),
  page as (
    select r.*
    from selected r
    order by r.created_at desc, r.id desc
    offset $5
    limit $6
  )
select
  coalesce(w.watermark, 'epoch') as watermark,
  (select count(*) from selected) as total,
  (select max(created_at) from selected) as newest,
  p.*
from projection.phone_system s
left join projection.position w on w.partition = $1
left join page p on true
where s.partition = $1
  and s.id = $2
order by p.created_at desc, p.id desc
