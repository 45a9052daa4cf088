-- A page of the few rows that exact filters pick out, newest first. They are counted.
-- $1 system, $2 from, $3 until, $4 rows to skip, $5 rows to return, from $6 on what picks.
with
  picked as (
    select r.*
    from ({{rows}}) r
    where r.created_at >= $2
      and r.created_at < $3
  ),
  page as (
    select r.*
    from picked r
    order by r.created_at desc, r.id desc
    offset $4
    limit $5
  )
select
  coalesce(w.watermark, 'epoch') as watermark,
  (select count(*) from picked) as total,
  (select max(created_at) from picked) as newest,
  p.*
from projection.phone_system s
left join projection.position w on w.partition = s.partition
left join page p on true
where s.id = $1
order by p.created_at desc, p.id desc
