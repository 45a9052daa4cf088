update position
set sequence = $4, clock = $5, watermark = $6, retry_seq = $7, last_message = $8, last_message_at = $9
where partition = $1
  and epoch = $2
  and sequence = $3
  and retry_seq = $10
  and sequence <= $4
