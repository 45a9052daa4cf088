-- The watermarks of phone systems ($2), each in its partition ($1), for the pages that wait for them. The limits keep the joins nested loops,
-- which read these partitions only.
select
  k.id,
  coalesce(w.watermark, 'epoch') as watermark
from unnest($1::smallint[], $2::uuid[]) k (partition, id)
cross join lateral (
  select s.id
  from projection.phone_system s
  where s.partition = k.partition
    and s.id = k.id
  limit 1
) s
left join lateral (
  select w.watermark
  from projection.position w
  where w.partition = k.partition
  limit 1
) w on true
