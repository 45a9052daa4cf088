-- Raises the epochs of the new positions above every epoch that a projector holds, so that its next commit is fenced, and takes back
-- no published watermark. A partition that nobody has written yet has no position.
update %[1]s.position n
set epoch = greatest(n.epoch, o.epoch) + 1,
    watermark = greatest(n.watermark, o.watermark)
from projection.position o
where o.partition = n.partition
