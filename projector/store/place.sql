insert into position (partition, stream, stream_created, sequence, epoch, clock, watermark, turn, message, stored)
values ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9)
on conflict (partition) do nothing
