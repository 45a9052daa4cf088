insert into position as p (partition, stream, sequence, epoch, clock, watermark)
values ($1, $2, 0, 1, to_timestamp(0), to_timestamp(0))
on conflict (partition) do update
set epoch = p.epoch + 1
returning partition, stream, sequence, epoch, last_message, last_message_at, clock, watermark
