insert into control.audit_position (stream, stream_created, sequence)
values ($1, $2, $3)
on conflict do nothing
