update position
set sequence = $4, clock = $5, watermark = $6, last_message = $7, last_message_at = $8
where partition = $1
  and epoch = $2
  and sequence = $3
  and sequence <= $4
