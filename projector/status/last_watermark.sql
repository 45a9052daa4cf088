-- The time that watermarks of the live generation do not pass; null: they do.
select max(last_watermark)
from control.stream
where stream in (select stream from projection.position)
