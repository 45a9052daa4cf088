-- The cursors of the partitions with released notices above them, locked unless another transaction has; those that are furthest behind
-- first, so that each gets its turn. Without a gate ($1), a notice is released when it is written; otherwise up to the sequences ($2 to $5)
-- that all of the readers' databases have. Notices of a stream that was replaced are released when all of them have the projection of
-- another stream that is live here: no database will have the former positions again.
with released as (
  select *
  from unnest($2::text[], $3::timestamptz[], $4::smallint[], $5::bigint[]) r (stream, stream_created, partition, sequence)
),
live as (
  select distinct p.stream, p.stream_created, r.stream is not null as everywhere
  from projection.position p
  left join released r using (stream, stream_created, partition)
),
replaced as (
  select f.stream, f.stream_created
  from webhook.floor f
  where exists (select from live where everywhere)
    and not exists (select from live l where l.stream = f.stream and l.stream_created = f.stream_created)
  group by f.stream, f.stream_created
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
