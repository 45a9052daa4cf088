-- What calls refer to, by phone system, entity and key: their extensions and call groups, and the representatives of their analyses. The calls
-- are given by their system and id.
select c.system_id, r.entity, r.id::text
from call_log c
join unnest($2::uuid[], $3::uuid[]) as k (system_id, id) using (system_id, id)
cross join lateral (values
  ('call-group', c.call_group_id),
  ('extension', c.answered_by_extension_id),
  ('extension', c.from_extension_id)
) as r (entity, id)
where c.partition = $1
  and r.id is not null
union
select a.system_id, 'representative', a.representative_id::text
from analysis a
join unnest($2::uuid[], $3::uuid[]) as k (system_id, call_id) using (system_id, call_id)
where a.partition = $1
  and a.representative_id is not null
