-- Lowers the floors of partitions of which the stream has lost messages to the positions with which the generation goes live ($1 to $3).
-- Otherwise new messages with the sequences of the lost ones would write no notices. Notices above the position are of lost messages, and
-- are deleted: cursors and endpoints begin again at the position, too.
with lost as materialized (
  select *
  from unnest($1::uuid[], $2::smallint[], $3::bigint[]) p (stream, partition, sequence)
),
deleted as (
  delete from webhook.notice n
  using lost
  where n.stream = lost.stream
    and n.partition = lost.partition
    and n.sequence > lost.sequence
),
cursors as (
  update webhook.fanout c
  set sequence = lost.sequence
  from lost
  where c.stream = lost.stream
    and c.partition = lost.partition
    and c.sequence > lost.sequence
),
endpoints as (
  update webhook.endpoint e
  set from_sequence = l.sequence
  from (select stream, max(sequence) as sequence from lost group by stream) l
  where e.stream = l.stream
    and e.from_sequence > l.sequence
)
update webhook.floor f
set sequence = lost.sequence
from lost
where f.stream = lost.stream
  and f.partition = lost.partition
  and f.sequence > lost.sequence
