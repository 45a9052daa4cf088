-- Records corrections, by partition ($1), phone system ($2), call ($3) and since when the calls changed ($4). Their time is after every watermark
-- that was published.
with live as materialized (
  select partition, stream, stream_created, watermark
  from projection.position
),
corrected as materialized (
  select *
  from unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::timestamptz[]) as c (partition, system_id, call_id, since)
)
insert into control.correction (stream, stream_created, partition, system_id, call_id, since, clock)
select p.stream, p.stream_created, p.partition, c.system_id, c.call_id, c.since, p.watermark + interval '1 millisecond'
from corrected c
join live p using (partition)
