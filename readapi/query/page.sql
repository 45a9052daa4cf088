-- A page of a list, newest first, found by the counts per day of the projector. The keys are the list's rows, or their keys in an
-- index table.
-- $1 partition, $2 system, $3 from, $4 until, $5 rows to skip, $6 rows to return, $7 and $8 the bounds of the whole days in the window,
-- $9 the subset in day_count.
-- The only possible join is a nested loop, which keeps the order of the page's rows. An order by would sort them again.
with
  -- The window in parts, each with its number of rows: whole days from day_count, the rest from the index. A first page needs their sum
  -- alone, a later one their order: only one of the two is read.
  part as not materialized (
    select
      d.day::timestamp at time zone 'UTC' as start,
      (d.day + 1)::timestamp at time zone 'UTC' as until,
      d.count
    from projection.day_count d
    where d.partition = $1
      and d.system_id = $2
      and d.list = '{{list}}'
      and d.subset = $9::text
      and d.day >= ($7::timestamptz at time zone 'UTC')::date
      and d.day < ($8::timestamptz at time zone 'UTC')::date
    union all
    select
      $8,
      $4,
      count(*)::integer
    from ({{keys}}) k
    where k.created_at >= $8
      and k.created_at < $4
    union all
    select
      $3,
      $7,
      count(*)::integer
    from ({{keys}}) k
    where k.created_at >= $3
      and k.created_at < $7
  ),
  -- The number of the window's rows, newest first, up to the end of each part.
  reach as (
    select
      start,
      until,
      count,
      sum(count) over (order by start desc rows unbounded preceding) as through
    from part
    where count > 0
  ),
  -- The parts that contain the page. Both bounds matter: without the lower one, a plan with a sort would read the whole window.
  span as (
    select
      min(start) as start,
      max(until) as until,
      $5::bigint - min(through - count) as skip
    from reach
    where through > $5
      and through - count - $6::bigint < $5
  ),
  cut as (
    select k.*
    from ({{keys}}) k
    where k.created_at >= case when $5 > 0 then (select start from span) else $3 end
      and k.created_at < case when $5 > 0 then (select until from span) else $4 end
    order by k.created_at desc, k.id desc
    offset case when $5 > 0 then (select skip from span) else 0 end
    limit $6
  )
select
  coalesce(w.watermark, 'epoch') as watermark,
  w.partition,
  w.sequence,
  case
    when $5 > 0 then (select coalesce(max(through), 0) from reach)
    else (select coalesce(sum(count), 0) from part)
  end as total,
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
