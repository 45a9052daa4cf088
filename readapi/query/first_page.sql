-- The first page of a list, newest first, with the total by the projector's counts per day. The keys are the list's rows, or their keys in an
-- index table.
-- $1 partition, $2 system, $3 from, $4 until, $5 rows to return, $6 and $7 the bounds of the whole days in the window, $8 the subset in row_count.
-- The only possible join is a nested loop, which keeps the order of the page's rows. An order by would sort them again.
with
{{window}},
  page_row as (
    select k.*
    from ({{keys}}) k
    where k.created_at >= $3
      and k.created_at < $4
    order by k.created_at desc, k.id desc
    limit $5
  )
select
  coalesce(w.watermark, 'epoch') as watermark,
  (select coalesce(sum(count), 0) from part) as total,
  (
    select k.created_at
    from ({{keys}}) k
    where k.created_at >= $3
      and k.created_at < $4
    order by k.created_at desc
    limit 1
  ) as newest,
  p.*
from projection.phone_system s
left join projection.position w on w.partition = $1
left join {{page}} p on true
where s.partition = $1
  and s.id = $2
