update position
set sequence = $4, clock = $5, watermark = $6, turn = $7, message = $8, stored = $9
where partition = $1
  and epoch = $2
  and sequence = $3
  and turn = $10
  and sequence <= $4
