-- The names of references and the labels of codes, each once. The name of a deleted target is null. A reference whose target no event has
-- defined has no row, nor has a code without classification. The global classifications come first: those of the system override them.
-- $1 partition, $2 system, $3 call groups, $4 extensions, $5 representatives, $6 categories, $7 to $9 overall, employee and customer
-- sentiments. The keys are arrays, so that the plan probes an index a few times. A join could be planned to read all of the system's rows.
-- The offset keeps the kind out of the choice of the index. Tombstones are probed key by key, which their limit ensures: without statistics,
-- an array could be planned to read all of them.
with snapshot as materialized ({{snapshot}})
select
  w.edition,
  n.family,
  n.id,
  n.code,
  n.name,
  n.number,
  n.score
from snapshot w
left join (
  select 'call_group' as family, e.id, null as code, e.name, e.number, null::double precision as score, null::uuid as system_id
  from (
    select t.id, t.kind, t.name, t.number
    from projection.topology t
    where t.partition = $1 and t.system_id = $2 and t.id = any ($3::uuid[])
    offset 0
  ) e
  where e.kind = 'call-group'
  union all
  select 'extension', e.id, null, e.name, e.number, null, null
  from (
    select t.id, t.kind, t.name, t.number
    from projection.topology t
    where t.partition = $1 and t.system_id = $2 and t.id = any ($4::uuid[])
    offset 0
  ) e
  where e.kind = 'extension'
  union all
  select 'representative', e.id, null, e.name, null, null, null
  from projection.representative e
  where e.partition = $1 and e.system_id = $2 and e.id = any ($5::uuid[])
  union all
  select 'call_group', k.id, null, null, null, null, null
  from unnest($3::uuid[]) k (id)
  cross join lateral (
    select from projection.tombstone t
    where t.partition = $1 and t.system_id = $2 and t.entity = 'call-group' and t.key = k.id::text
    limit 1
  ) t
  union all
  select 'extension', k.id, null, null, null, null, null
  from unnest($4::uuid[]) k (id)
  cross join lateral (
    select from projection.tombstone t
    where t.partition = $1 and t.system_id = $2 and t.entity = 'extension' and t.key = k.id::text
    limit 1
  ) t
  union all
  select 'representative', k.id, null, null, null, null, null
  from unnest($5::uuid[]) k (id)
  cross join lateral (
    select from projection.tombstone t
    where t.partition = $1 and t.system_id = $2 and t.entity = 'representative' and t.key = k.id::text
    limit 1
  ) t
  union all
  select 'category', null, c.code, c.label, null, c.score, c.system_id
  from projection.classification c
  where c.system_id in ($2, '00000000-0000-0000-0000-000000000000')
    and c.kind = 'category' and c.code = any ($6::text[])
  union all
  select 'overall_sentiment', null, c.code, c.label, null, c.score, c.system_id
  from projection.classification c
  where c.system_id in ($2, '00000000-0000-0000-0000-000000000000')
    and c.kind = 'overall_sentiment' and c.code = any ($7::text[])
  union all
  select 'employee_sentiment', null, c.code, c.label, null, c.score, c.system_id
  from projection.classification c
  where c.system_id in ($2, '00000000-0000-0000-0000-000000000000')
    and c.kind = 'employee_sentiment' and c.code = any ($8::text[])
  union all
  select 'customer_sentiment', null, c.code, c.label, null, c.score, c.system_id
  from projection.classification c
  where c.system_id in ($2, '00000000-0000-0000-0000-000000000000')
    and c.kind = 'customer_sentiment' and c.code = any ($9::text[])
) n on true
order by n.system_id
