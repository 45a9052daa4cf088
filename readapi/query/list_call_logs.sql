-- $1 system, $2 from, $3 until, $4 and $5 the bounds of the whole days between, $6 rows to skip, $7 rows to return.
with
  -- The window in parts, each with its number of rows: whole days as counted by the projector, the rest from the index.
  part as (
    select
      d.day::timestamp at time zone 'UTC' as start,
      (d.day + 1)::timestamp at time zone 'UTC' as until,
      d.count
    from projection.day_count d
    where d.system_id = $1
      and d.list = 'call_log'
      and d.subset = '00000000-0000-0000-0000-000000000000'
      and d.day >= ($4::timestamptz at time zone 'UTC')::date
      and d.day < ($5::timestamptz at time zone 'UTC')::date
    union all
    select
      $5,
      $3,
      count(*)::integer
    from projection.call_log c
    where c.system_id = $1
      and c.created_at >= $5
      and c.created_at < $3
    union all
    select
      $2,
      $4,
      count(*)::integer
    from projection.call_log c
    where c.system_id = $1
      and c.created_at >= $2
      and c.created_at < $4
  ),
  -- How many of the window's rows there are, newest first, up to the end of each part.
  reach as (
    select
      start,
      until,
      count,
      sum(count) over (order by start desc) as through
    from part
    where count > 0
  ),
  -- The parts that the page lies in. Both bounds matter: without the lower one, a plan that sorts would read the whole window.
  span as (
    select
      min(start) as start,
      max(until) as until,
      $6::bigint - min(through - count) as skip
    from reach
    where through > $6
      and through - count - $7::bigint < $6
  ),
  page as (
    select
      c.id,
      c.call_sid,
      c.parent_call_sid,
      c.direction,
      c.status,
      c.outcome,
      c.from_party,
      c.from_name,
      c.to_party,
      c.created_at,
      c.start_time,
      c.end_time,
      c.duration,
      c.recording_sid,
      c.recording_duration
    from projection.call_log c
    where c.system_id = $1
      and c.created_at >= (select start from span)
      and c.created_at < (select until from span)
    order by c.created_at desc, c.id desc
    offset (select skip from span)
    limit $7
  )
select
  coalesce(w.watermark, 'epoch') as watermark,
  (select coalesce(sum(count), 0) from part) as total,
  (
    select c.created_at
    from projection.call_log c
    where c.system_id = $1
      and c.created_at >= $2
      and c.created_at < $3
    order by c.created_at desc
    limit 1
  ) as newest,
  p.id,
  p.call_sid,
  p.parent_call_sid,
  p.direction,
  p.status,
  p.outcome,
  p.from_party,
  p.from_name,
  p.to_party,
  p.created_at,
  p.start_time,
  p.end_time,
  p.duration,
  p.recording_sid,
  p.recording_duration
from projection.phone_system s
left join projection.position w on w.partition = s.partition
left join page p on true
where s.id = $1
order by p.created_at desc, p.id desc
