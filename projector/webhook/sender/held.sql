-- When the oldest notice was recorded that is not fanned out yet; null: there is none.
select min(n.recorded_at)
from webhook.floor f
left join webhook.fanout c using (stream, partition)
cross join lateral (
  select recorded_at
  from webhook.notice n
  where n.stream = f.stream
    and n.partition = f.partition
    and n.sequence > coalesce(c.sequence, 0)
    and n.sequence <= f.sequence
  order by n.sequence
  limit 1
) n
where f.sequence > coalesce(c.sequence, 0)
