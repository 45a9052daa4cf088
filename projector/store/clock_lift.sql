insert into control.clock_lift (stream, stream_created, partition, sequence, time)
values ($1, $2, $3, $4, $5)
on conflict (stream, stream_created, partition, sequence) do update
set time = greatest(clock_lift.time, excluded.time)
