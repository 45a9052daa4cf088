-- What a page is read from: the rows of phone system $2 in partition $1 up to a watermark, and an edition of its directory.
-- Snapshots with equal editions have equal names and labels: the fold raises a version in the commit that changes one,
-- whatever else writes one raises the epoch, and a rebuild makes another generation.
select
  coalesce(w.watermark, 'epoch') as watermark,
  concat_ws('/', g.id, coalesce(w.epoch, 0), coalesce(d.version, 0), coalesce(o.version, 0)) as edition,
  now() as now
from projection.phone_system s
cross join projection.generation g
left join projection.position w on w.partition = $1
left join projection.directory d on d.partition = $1 and d.system_id = s.id
left join projection.global_directory o on o.system_id = '00000000-0000-0000-0000-000000000000'
where s.partition = $1
  and s.id = $2
