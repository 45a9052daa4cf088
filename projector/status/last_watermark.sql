-- The time that watermarks of the live generation do not pass; null: they do.
select max(last_watermark)
from control.stream
where (stream, stream_created) in (select stream, stream_created from projection.position)
