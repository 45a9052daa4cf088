-- The stream lost the message that had this sequence, and gave the sequence to the message of this dead letter.
update control.dead_letter d
set partition = $3, subject = $4, header = $5, data = $6, reason = $7, stored_at = $8, recorded_at = now(),
    generation = g.id,
    resolution = null, resolved_at = null, failures = '[]', failed_at = null, retried_at = null, retry_sequence = null
from generation g
where d.stream = $1
  and d.sequence = $2
  and d.stored_at <> $8
