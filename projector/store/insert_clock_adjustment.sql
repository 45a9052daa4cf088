insert into control.clock_adjustment (stream, stream_created, partition, sequence, clock)
values ($1, $2, $3, $4, $5)
on conflict (stream, stream_created, partition, sequence) do update
set clock = greatest(clock_adjustment.clock, excluded.clock)
