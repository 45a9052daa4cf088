insert into control.clock_lift (stream, stream_created, partition, sequence, time)
values ($1, $2, $3, $4, $5)
on conflict do nothing
