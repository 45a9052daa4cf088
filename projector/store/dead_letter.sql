insert into control.dead_letter (stream, stream_created, sequence, partition, subject, header, data, reason, stored_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (stream, stream_created, sequence) do nothing
