-- Makes the highest watermark of the live generation the least clock of each of the $3 partitions of a stream ($1, $2).
insert into control.clock_adjustment (stream, stream_created, partition, sequence, clock)
select $1, $2, n.partition, 0, w.highest
from generate_series(0, $3::integer - 1) as n (partition)
cross join (select max(watermark) as highest from projection.position) w
on conflict (stream, stream_created, partition, sequence) do update
set clock = greatest(clock_adjustment.clock, excluded.clock)
