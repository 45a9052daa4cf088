-- Raises the floor of every partition to the position with which the generation goes live ($1 to $3), so that no message up to it writes notices.
-- The result is the number of partitions of which only the generation has applied messages: above the live position ($4) and the floor. -1 is a
-- partition of which the stream has lost messages and stored others. The result is 0 where no notices are recorded. Floors are locked in the order of the
-- partitions, as by the registration of an endpoint.
with next as materialized (
  select
    n.stream,
    n.partition,
    n.sequence,
    case when n.live < 0 then 0 else greatest(n.live, f.sequence, 0) end as known
  from unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bigint[])
    n (stream, partition, sequence, live)
  left join webhook.floor f using (stream, partition)
),
raised as (
  insert into webhook.floor as f (stream, partition, sequence)
  select stream, partition, sequence
  from next
  order by partition
  on conflict (stream, partition) do update
  set sequence = greatest(f.sequence, excluded.sequence)
)
select count(*)
from next
where known < sequence
  and (select used from webhook.in_use)
