-- A page of the few rows that filters select, newest first. The statement counts them. The offset keeps the window and the order out of
-- the choice of the index: the filters' index has few rows, the window's can have all.
-- $1 system, $2 from, $3 until, $4 rows to skip, $5 rows to return, $6 and above the filters' values.
with
  selected as (
    select r.*
    from ({{rows}}  offset 0) r
    where r.created_at >= $2
      and r.created_at < $3
  ),
  page as (
    select r.*
    from selected r
    order by r.created_at desc, r.id desc
    offset $4
    limit $5
  )
select
  coalesce(w.watermark, 'epoch') as watermark,
  w.partition,
  w.sequence,
  (select count(*) from selected) as total,
  (select max(created_at) from selected) as newest,
  p.*
from projection.phone_system s
left join projection.position w on w.partition = s.partition
left join page p on true
where s.id = $1
order by p.created_at desc, p.id desc
