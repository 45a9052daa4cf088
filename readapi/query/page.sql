-- A page of a list after the first one, newest first, found by the projector's counts: the days that contain it, then its rows. The keys are the
-- list's rows, or their keys in an index table.
-- $1 partition, $2 system, $3 from, $4 until, $5 rows to return, $6 and $7 the bounds of the whole days in the window, $8 the subset in row_count,
-- $9 rows to skip.
-- The only possible join is a nested loop, which keeps the order of the page's rows. An order by would sort them again.
with
{{window}},
  -- The number of the window's rows, newest first, up to the end of each day.
  cumulative as (
    select
      day,
      count,
      sum(count) over (order by day desc rows unbounded preceding) as through
    from part
    where count > 0
  ),
  -- The days that contain the page, as far as they are in the window. Both bounds matter: without the lower one, a plan with a sort would read
  -- the whole window.
  page_days as (
    select
      min(greatest(day::timestamp at time zone 'UTC', $3)) as start,
      max(least((day + 1)::timestamp at time zone 'UTC', $4)) as until,
      $9::bigint - min(through - count) as skip
    from cumulative
    where through > $9
      and through - count - $5::bigint < $9
  ),
  page_row as (
    select k.*
    from ({{keys}}) k
    where k.created_at >= (select start from page_days)
      and k.created_at < (select until from page_days)
    order by k.created_at desc, k.id desc
    offset (select skip from page_days)
    limit $5
  )
select
  coalesce(w.watermark, 'epoch') as watermark,
  (select coalesce(max(through), 0) from cumulative) as total,
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
