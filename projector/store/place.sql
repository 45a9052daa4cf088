insert into position (partition, stream, stream_created, sequence, epoch, clock, watermark, turn)
values ($1, $2, $3, $4, 0, $5, $6, $7)
on conflict (partition) do nothing
