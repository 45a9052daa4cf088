-- Moves a position without rows, its watermark as advance_position.sql does, and tells whether it was moved. There is no result for one that
-- another transaction holds, such as a repair: others would wait for it.
with free as materialized (
  select p.partition
  from position p
  where p.partition = $1
  for no key update skip locked
), moved as (
  update position p
  set
    sequence = $4,
    watermark = least($5::timestamptz, (
      select s.last_watermark
      from control.stream s
      where s.stream = p.stream
    )),
    last_message = $6,
    last_message_at = $7
  where p.partition = $1
    and exists (select from free)
    and p.epoch = $2
    and p.sequence = $3
    and p.sequence <= $4
  returning p.partition
)
select exists (select from moved) as moved
where exists (select from free)
  or not exists (select from position p where p.partition = $1)
