-- The cursors of the partitions with released notices above them, locked unless another transaction has. Without a gate ($1), a notice is
-- released when it is written; otherwise up to the sequences ($2 to $5) that all of the readers' databases have.
with released as (
  select *
  from unnest($2::text[], $3::timestamptz[], $4::smallint[], $5::bigint[]) r (stream, stream_created, partition, sequence)
)
select
  c.stream,
  c.stream_created,
  c.partition,
  c.sequence,
  case when $1 then least(f.sequence, r.sequence) else f.sequence end as up_to
from webhook.fanout c
join webhook.floor f using (stream, stream_created, partition)
left join released r using (stream, stream_created, partition)
where case when $1 then least(f.sequence, coalesce(r.sequence, 0)) else f.sequence end > c.sequence
order by c.stream, c.stream_created, c.partition
limit $6
for update of c skip locked
