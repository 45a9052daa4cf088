-- The calls of extension $8, of which the rows are looked up once the page is cut.
select
  e.created_at,
  e.call_id as id
from projection.extension_call e
where e.system_id = $1
  and e.extension_id = $8::text::uuid
