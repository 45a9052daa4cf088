insert into control.clock_adjustment (stream, partition, sequence, clock)
values ($1, $2, $3, $4)
on conflict (stream, partition, sequence) do update
set clock = greatest(clock_adjustment.clock, excluded.clock)
