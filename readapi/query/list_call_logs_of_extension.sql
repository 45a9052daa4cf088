-- The keys of the calls of extension $8. page.sql looks up the rows of one page.
select
  e.created_at,
  e.call_id as id
from projection.extension_call e
where e.system_id = $1
  and e.extension_id = $8::text::uuid
