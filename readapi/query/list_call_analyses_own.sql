-- The analyses of extension $8's calls, of which the rows are looked up once the page is cut.
select
  e.created_at,
  e.analysis_id as id
from projection.extension_analysis e
where e.system_id = $1
  and e.extension_id = $8::text::uuid
