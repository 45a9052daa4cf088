-- A message that is read again, because the position was set back, is a dead letter already.
insert into control.dead_letter (sequence, partition, subject, header, data, reason, stored_at)
select $1, 0, $2, $3, $4, $5, $6::timestamptz
where not exists (
  select
  from control.dead_letter
  where stream is null
    and sequence = $1
    and stored_at = $6
)
