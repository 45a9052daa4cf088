-- Gives calls of a phone system ($2) the times of announcements ($5, $6, $7), as far as they are later. A slice begins at a call ($3) and has up
-- to $4 calls. The result is its last call, the number of its calls, and how many were changed. The calls of the batch ($8) are left out: the
-- batch writes them. Nothing is changed where the partition is not at the position ($9, $10): another projector may write it.
with slice as materialized (
  select id, updated_at, call_group_id, answered_by_extension_id, from_extension_id, representative_id
  from call_log
  where partition = $1
    and system_id = $2
    and id >= $3
  order by id
  limit $4
), due as (
  select s.id, max(a.at) as at
  from slice s
  cross join lateral (values
    ('call_group', s.call_group_id),
    ('extension', s.answered_by_extension_id),
    ('extension', s.from_extension_id),
    ('representative', s.representative_id)
  ) as r (family, entry)
  join unnest($5::text[], $6::uuid[], $7::timestamptz[]) as a (family, entry, at) using (family, entry)
  where s.updated_at < a.at
    and not exists (select from unnest($8::uuid[]) as f (id) where f.id = s.id)
  group by s.id
), announced as (
  update call_log c
  set updated_at = d.at
  from due d
  where c.partition = $1
    and c.system_id = $2
    and c.id = d.id
    and c.updated_at < d.at
    and exists (select from position p where p.partition = $1 and p.epoch = $9 and p.sequence = $10)
  returning c.id
)
select
  coalesce((select id from slice order by id desc limit 1), $3),
  (select count(*) from slice),
  (select count(*) from announced)
