-- Dead letters of a generation that is being built do not count. $1 the maximum length of a reason, $2 the maximum number of reasons.
with open as (
  select
    left(reason, $1) as reason,
    state
  from control.dead_letter
  where resolution is null
    and generation <= (select id from control.generation where state = 'live')
),
frequent as (
  select
    reason,
    count(*) as count
  from open
  group by reason
  order by count desc, reason collate "C"
  limit $2
)
select
  (select count(*) from open),
  (select count(*) from open where state = 'waiting'),
  (select coalesce(jsonb_agg(f order by f.count desc, f.reason collate "C"), '[]') from frequent f)
