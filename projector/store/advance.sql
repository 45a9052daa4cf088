update position
set sequence = $4, clock = $5, watermark = $6, turn = $7
where partition = $1
  and epoch = $2
  and sequence = $3
