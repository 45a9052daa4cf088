update position
set sequence = $5, clock = $6, watermark = $7, retry_seq = $8, last_message = $9, last_message_at = $10
where partition = $1
  and epoch = $2
  and sequence = $3
  and retry_seq = $4
  and sequence <= $5
