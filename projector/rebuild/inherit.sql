-- No epoch that anybody holds is good for the new positions, and no watermark that was published is taken back. A partition that
-- nobody has written to yet has none.
update %[1]s.position n
set epoch = greatest(n.epoch, o.epoch) + 1,
    watermark = greatest(n.watermark, o.watermark)
from projection.position o
where o.partition = n.partition
