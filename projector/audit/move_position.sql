-- Moves the position from $1 to $2, unless another writer has moved it. A writer that comes second waits here until the first one has committed.
insert into control.audit_position as p (sequence, stored_at)
values ($2, $3)
on conflict (one) do update
set sequence = excluded.sequence, stored_at = excluded.stored_at
where p.sequence = $1
