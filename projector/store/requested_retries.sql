-- The dead letters whose retry is requested, each with the next retry number. They stay locked, so that nobody drops them meanwhile.
select sequence, subject, header, data, stored_at, nextval('control.dead_letter_retry_seq') as retry_seq
from (
  select *
  from control.dead_letter
  where stream = $1
    and stream_created = $2
    and partition = $3
    and sequence <= $4
    and retry_requested_at is not null
    and generation <= (select id from generation)
  order by sequence
  limit $5
  for update skip locked
) requested
