-- The keys of the analyses of extension $8's calls. page.sql looks up the rows of one page.
select
  e.created_at,
  e.id
from projection.extension_entry e
where e.partition = $1
  and e.system_id = $2
  and e.extension_id = $8::text::uuid
  and e.analysis
