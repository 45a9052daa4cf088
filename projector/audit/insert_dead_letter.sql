insert into control.dead_letter (stream, stream_created, sequence, partition, subject, header, data, reason, stored_at)
values ($1, $2, $3, 0, $4, $5, $6, $7, $8)
on conflict (stream, stream_created, sequence) do nothing
