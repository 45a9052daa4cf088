-- Moves positions without rows, watermarks as advance_position.sql does, and tells for each whether it was moved. One that another transaction holds, such as a repair, is left out: all
-- others would wait for it.
with free as materialized (
  select p.partition
  from position p
  where p.partition = any ($1::smallint[])
  order by p.partition
  for no key update skip locked
), moved as (
  update position p
  set
    sequence = m.sequence,
    watermark = least(m.watermark, (
      select s.last_watermark
      from control.stream s
      where s.stream = p.stream
        and s.stream_created = p.stream_created
    )),
    last_message = m.last_message,
    last_message_at = m.last_message_at
  from unnest($1::smallint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::bigint[], $7::timestamptz[])
    as m (partition, epoch, from_sequence, sequence, watermark, last_message, last_message_at)
  where p.partition = m.partition
    and p.partition in (select partition from free)
    and p.epoch = m.epoch
    and p.sequence = m.from_sequence
    and p.sequence <= m.sequence
  returning p.partition
)
select i.partition, m.partition is not null as moved
from unnest($1::smallint[]) as i (partition)
left join moved m using (partition)
where i.partition in (select partition from free)
  or not exists (select from position p where p.partition = i.partition)
