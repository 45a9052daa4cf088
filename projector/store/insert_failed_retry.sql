-- A stream that lost its end gives a sequence to another message.
insert into control.failed_retry as f (stream, sequence, partition, stored_at, reason)
values ($1, $2, $3, $4, $5)
on conflict (stream, sequence) do update
set partition = excluded.partition, stored_at = excluded.stored_at, reason = excluded.reason
where f.stored_at <> excluded.stored_at
