insert into position (partition, stream, stream_created, sequence, epoch, clock, watermark, last_message, last_message_at)
values ($1, $2, $3, $4, 0, $5, $6, $7, $8)
on conflict (partition) do nothing
