-- Makes the highest watermark of the live generation the least clock of each of the $2 partitions of a stream ($1).
insert into control.clock_adjustment as a (stream, partition, capped, first_sequence, last_sequence, clock)
select $1, n.partition, false, 0, 0, w.highest
from generate_series(0, $2::integer - 1) as n (partition)
cross join (select max(watermark) as highest from projection.position) w
on conflict (stream, partition, capped, first_sequence) do update
set clock = greatest(a.clock, excluded.clock)
