-- The messages ($3) that are retries of open dead letters. The subjects and the SHA-256 of the data are compared, so that no other message can
-- resolve a dead letter, or fail without becoming one.
select r.sequence
from unnest($3::bigint[], $4::bigint[], $5::timestamptz[], $6::text[], $7::bytea[])
  as r (sequence, dead_letter, stored_at, subject, digest)
join control.dead_letter d
  on d.stream = $1
  and d.partition = $2
  and d.sequence = r.dead_letter
where d.stored_at >= r.stored_at
  and d.stored_at < r.stored_at + interval '1 millisecond'
  and d.resolution is null
  and d.generation <= (select id from generation)
  and d.subject = r.subject
  and sha256(d.data) = r.digest
order by d.sequence
for no key update of d
