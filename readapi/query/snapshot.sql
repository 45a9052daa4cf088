-- What a page is read from: the rows of phone system $2 in partition $1 up to a watermark, and an edition of its directory.
-- Snapshots with equal editions have equal names and labels: the fold counts it in the commit that changes one,
-- whatever else writes one raises the epoch, and a rebuild makes another generation.
select
  coalesce(w.watermark, 'epoch') as watermark,
  concat_ws('/', g.id, coalesce(w.epoch, 0), s.version, s.directory, g.directory) as edition,
  now() as now
from projection.phone_system s
cross join projection.generation g
left join projection.position w on w.partition = $1
where s.partition = $1
  and s.id = $2
