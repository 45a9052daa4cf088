-- The cursors of the partitions with released notices above them, locked unless another transaction has; those that are furthest behind
-- first, so that each gets its turn. Without a gate ($1), a notice is released when it is written; otherwise up to the sequences ($2 to $4)
-- that this database and all of the readers' have. Notices of a stream that was replaced are released when all of them have the projection of
-- another stream: no database will have the former positions again.
with released as (
  select *
  from unnest($2::uuid[], $3::smallint[], $4::bigint[]) r (stream, partition, sequence)
),
replaced as (
  select stream
  from webhook.floor
  where exists (select from released)
    and stream not in (select stream from released)
  group by stream
)
select c.stream, c.partition, c.sequence, u.up_to
from webhook.fanout c
join webhook.floor f using (stream, partition)
left join released r using (stream, partition)
left join replaced o using (stream)
cross join lateral (
  select case when $1 and o.stream is null then least(f.sequence, coalesce(r.sequence, 0)) else f.sequence end as up_to
) u
where u.up_to > c.sequence
order by c.sequence, c.stream, c.partition
limit $5
for update of c skip locked
