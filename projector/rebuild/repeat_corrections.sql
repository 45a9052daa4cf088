-- Records again the corrections since a time ($1): a generation that went live then shows what they corrected. Their time is after every watermark
-- that was published.
with live as materialized (
  select partition, stream, stream_created, watermark
  from projection.position
)
insert into control.correction (stream, stream_created, partition, system_id, call_id, since, clock)
select p.stream, p.stream_created, p.partition, c.system_id, c.call_id, min(c.since), p.watermark + interval '1 millisecond'
from control.correction c
join live p using (stream, stream_created, partition)
where c.recorded_at > $1
group by p.stream, p.stream_created, p.partition, c.system_id, c.call_id, p.watermark
