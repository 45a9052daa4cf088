-- Stops the watermarks of the live generation at the highest one, unless an earlier run has. $1 is the stream that is to be read.
update control.stream s
set last_watermark = coalesce(s.last_watermark, w.highest)
from (select max(watermark) as highest from projection.position) w
where s.stream in (
    select stream
    from projection.position
    where stream <> $1
  )
