-- The stream lost the message that had this sequence, and gave the sequence to the message of this dead letter.
update control.dead_letter d
set partition = $4, subject = $5, header = $6, data = $7, reason = $8, stored_at = $9, recorded_at = now(),
    generation = g.id,
    resolution = null, resolved_at = null, tries = 0, failed_at = null, retried_at = null, retry_sequence = null
from generation g
where d.stream = $1
  and d.stream_created = $2
  and d.sequence = $3
  and d.stored_at <> $9
