-- $1 how many characters of a reason count, $2 how many reasons.
with open as (
  select
    left(reason, $1) as reason,
    retry_at
  from control.dead_letter
  where resolution is null
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
  (select count(retry_at) from open),
  (select coalesce(jsonb_agg(f order by f.count desc, f.reason collate "C"), '[]') from frequent f)
