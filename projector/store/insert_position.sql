insert into position (partition, stream, sequence, epoch, clock, watermark, last_message, last_message_at)
values ($1, $2, $3, 0, $4, $5, $6, $7)
on conflict (partition) do nothing
