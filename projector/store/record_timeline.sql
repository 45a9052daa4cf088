-- Records the timeline of the server. previous is null where none was recorded. Up to position, the tables have every message of the stream
-- in at least one partition.
with current as (
  select ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint as timeline
),
recorded as (
  insert into control.timeline as t (timeline)
  select timeline from current
  on conflict (one) do update
  set timeline = excluded.timeline, seen_at = now()
  where t.timeline <> excluded.timeline
)
select
  c.timeline,
  (select t.timeline from control.timeline t) as previous,
  coalesce((select max(p.sequence) from position p), 0) as position
from current c
