-- The messages ($4) that are retries of open dead letters. The subjects and the SHA-256 of the data are compared, so that no other message can
-- resolve a dead letter, or fail without becoming one.
select r.sequence
from unnest($4::bigint[], $5::bigint[], $6::timestamptz[], $7::text[], $8::bytea[])
  as r (sequence, dead_letter, stored_at, subject, digest)
join control.dead_letter d
  on d.stream = $1
  and d.stream_created = $2
  and d.partition = $3
  and d.sequence = r.dead_letter
where d.stored_at >= r.stored_at
  and d.stored_at < r.stored_at + interval '1 millisecond'
  and d.resolution is null
  and d.generation <= (select id from generation)
  and d.subject = r.subject
  and sha256(d.data) = r.digest
order by d.sequence
for no key update of d
