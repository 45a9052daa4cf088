-- How far the oldest partition with a phone system of an organization is behind, in seconds. No row: there is none. It reads all nodes.
select extract(epoch from now() - w.watermark)::float8
from projection.position w
join projection.phone_system s using (partition)
where s.organization_id = $1
  and w.watermark > to_timestamp(0)
order by w.watermark
limit 1
