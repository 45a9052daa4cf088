insert into control.audit_position (sequence)
values ($1)
on conflict do nothing
