-- What a step takes of each partition: from cursors ($1 to $3) up to released sequences ($4), about $5 notices. The count of the notices, the
-- last one's sequence, and their phone systems. The notices of a message are of one phone system, and stay together.
select c.stream, c.partition, c.after, c.up_to, n.count, coalesce(n.last, 0), coalesce(n.systems, '{}')
from unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bigint[])
  c (stream, partition, after, up_to)
cross join lateral (
  select count(*) as count, max(sequence) as last, array_agg(distinct system_id) as systems
  from (
    select sequence, system_id
    from webhook.notice
    where stream = c.stream
      and partition = c.partition
      and sequence > c.after
      and sequence <= c.up_to
    order by sequence
    limit $5
  ) part
) n
