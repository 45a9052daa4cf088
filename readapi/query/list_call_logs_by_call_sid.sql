-- The legs of one call are few: they are counted.
-- $1 system, $2 from, $3 until, $4 rows to skip, $5 rows to return, $6 call sid.
with
  leg as (
    select
      count(*) as total,
      max(c.created_at) as newest
    from projection.call_log c
    where c.system_id = $1
      and c.call_sid = $6
      and c.created_at >= $2
      and c.created_at < $3
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
      and c.call_sid = $6
      and c.created_at >= $2
      and c.created_at < $3
    order by c.created_at desc, c.id desc
    offset $4
    limit $5
  )
select
  coalesce(w.watermark, 'epoch') as watermark,
  leg.total,
  leg.newest,
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
cross join leg
left join page p on true
where s.id = $1
order by p.created_at desc, p.id desc
