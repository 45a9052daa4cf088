-- The cursors of the partitions with released notices above them, locked unless another transaction has; those that are furthest behind
-- first, so that each gets its turn. Without a gate ($1), a notice is released when it is written; otherwise up to the sequences ($2 to $5)
-- that this database and all of the readers' have. Notices of a stream that was replaced are released when all of them have the projection of
-- another stream: no database will have the former positions again.
with released as (
  select *
  from unnest($2::text[], $3::timestamptz[], $4::smallint[], $5::bigint[]) r (stream, stream_created, partition, sequence)
),
replaced as (
  select stream, stream_created
  from webhook.floor
  where exists (select from released)
    and (stream, stream_created) not in (select stream, stream_created from released)
  group by stream, stream_created
)
select c.stream, c.stream_created, c.partition, c.sequence, u.up_to
from webhook.fanout c
join webhook.floor f using (stream, stream_created, partition)
left join released r using (stream, stream_created, partition)
left join replaced o using (stream, stream_created)
cross join lateral (
  select case when $1 and o.stream is null then least(f.sequence, coalesce(r.sequence, 0)) else f.sequence end as up_to
) u
where u.up_to > c.sequence
order by c.sequence, c.stream, c.stream_created, c.partition
limit $6
for update of c skip locked
