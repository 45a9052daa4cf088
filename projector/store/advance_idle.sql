-- Moves positions that have no messages above them, and tells for each whether it was moved. One that another transaction holds, such as a
-- repair, is left out: all others would wait for it.
with free as materialized (
  select p.partition
  from position p
  where p.partition = any ($1::smallint[])
  order by p.partition
  for no key update skip locked
), moved as (
  update position p
  set sequence = $5, watermark = i.watermark, last_message = $6, last_message_at = $7
  from unnest($1::smallint[], $2::bigint[], $3::bigint[], $4::timestamptz[])
    as i (partition, epoch, sequence, watermark)
  where p.partition = i.partition
    and p.partition in (select partition from free)
    and p.epoch = i.epoch
    and p.sequence = i.sequence
    and p.sequence <= $5
  returning p.partition
)
select i.partition, m.partition is not null as moved
from unnest($1::smallint[]) as i (partition)
left join moved m using (partition)
where i.partition in (select partition from free)
  or not exists (select from position p where p.partition = i.partition)
