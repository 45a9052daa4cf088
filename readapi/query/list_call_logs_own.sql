-- As list_call_logs, of the calls of extension $8.
with
  part as (
    select
      d.day::timestamp at time zone 'UTC' as start,
      (d.day + 1)::timestamp at time zone 'UTC' as until,
      d.count
    from projection.day_count d
    where d.system_id = $1
      and d.list = 'call_log'
      and d.subset = $8
      and d.day >= ($4::timestamptz at time zone 'UTC')::date
      and d.day < ($5::timestamptz at time zone 'UTC')::date
    union all
    select
      $5,
      $3,
      count(*)::integer
    from projection.extension_call e
    where e.system_id = $1
      and e.extension_id = $8
      and e.created_at >= $5
      and e.created_at < $3
    union all
    select
      $2,
      $4,
      count(*)::integer
    from projection.extension_call e
    where e.system_id = $1
      and e.extension_id = $8
      and e.created_at >= $2
      and e.created_at < $4
  ),
  reach as (
    select
      start,
      until,
      count,
      sum(count) over (order by start desc) as through
    from part
    where count > 0
  ),
  span as (
    select
      min(start) as start,
      max(until) as until,
      $6::bigint - min(through - count) as skip
    from reach
    where through > $6
      and through - count - $7::bigint < $6
  ),
  own as (
    select
      e.created_at,
      e.call_id
    from projection.extension_call e
    where e.system_id = $1
      and e.extension_id = $8
      and e.created_at >= (select start from span)
      and e.created_at < (select until from span)
    order by e.created_at desc, e.call_id desc
    offset (select skip from span)
    limit $7
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
    from own
    join projection.call_log c on c.system_id = $1 and c.id = own.call_id
  )
select
  coalesce(w.watermark, 'epoch') as watermark,
  (select coalesce(sum(count), 0) from part) as total,
  (
    select e.created_at
    from projection.extension_call e
    where e.system_id = $1
      and e.extension_id = $8
      and e.created_at >= $2
      and e.created_at < $3
    order by e.created_at desc
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
