-- last_watermark limits the watermark while a rebuild from another stream is unfinished.
update position p
set
  sequence = $4,
  clock = $5,
  watermark = least($6, (
    select s.last_watermark
    from control.stream s
    where s.stream = p.stream
  )),
  last_message = $7,
  last_message_at = $8
where partition = $1
  and epoch = $2
  and sequence = $3
  and sequence <= $4
