-- No watermark is above $3 any more, so no correction needs a later time.
update control.correction
set clock = $3
where stream = $1
  and stream_created = $2
  and clock > $3
