-- A page of a list after the first one, newest first, found by the projector's counts: the months that contain it, then the days in these
-- months, then its rows. The keys are the list's rows, or their keys in an index table.
-- $1 partition, $2 system, $3 from, $4 until, $5 rows to return, $6 and $7 the bounds of the whole days in the window, $8 and $9 those of the
-- whole months, $10 the subset in day_count and month_count, $11 rows to skip.
-- The only possible join is a nested loop, which keeps the order of the page's rows. An order by would sort them again.
with
{{window}},
  -- The number of the window's rows, newest first, up to the end of each part.
  cumulative_part as (
    select
      start,
      until,
      count,
      sum(count) over (order by start desc rows unbounded preceding) as through
    from part
    where count > 0
  ),
  -- The parts that contain the page. Both bounds matter: without the lower one, a plan with a sort would read the whole window.
  page_parts as (
    select
      min(start) as start,
      max(until) as until,
      $11::bigint - min(through - count) as skip
    from cumulative_part
    where through > $11
      and through - count - $5::bigint < $11
  ),
  -- The same of the days in these parts, and of the rest if it is one of them.
  cumulative_day as (
    select
      start,
      until,
      count,
      sum(count) over (order by start desc rows unbounded preceding) as through
    from (
      select
        d.start,
        d.until,
        d.count
      from days d
      where d.day >= ($6::timestamptz at time zone 'UTC')::date
        and d.day < ($7::timestamptz at time zone 'UTC')::date
        and d.day >= ((select start from page_parts) at time zone 'UTC')::date
        and d.day < ((select until from page_parts) at time zone 'UTC')::date
      union all
      select
        r.start,
        r.until,
        r.count
      from rest r
      where r.count > 0
        and r.start >= (select start from page_parts)
        and r.until <= (select until from page_parts)
    ) day_part
  ),
  page_days as (
    select
      min(start) as start,
      max(until) as until,
      (select skip from page_parts) - min(through - count) as skip
    from cumulative_day
    where through > (select skip from page_parts)
      and through - count - $5::bigint < (select skip from page_parts)
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
  w.partition,
  w.sequence,
  (select coalesce(max(through), 0) from cumulative_part) as total,
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
