-- The tables of a generation's schema ($1) that are compared: their columns that the live table has with the same type, the key, those that
-- are JSON, and the columns that the live table lacks.
select
  t.relname,
  coalesce(array_agg(a.attname::text order by a.attnum) filter (where l.attname is not null), '{}') as columns,
  coalesce(array_agg(a.attname::text order by a.attnum) filter (where l.attname is not null and k.indrelid is not null), '{}') as key,
  coalesce(array_agg(a.attname::text order by a.attnum) filter (where l.attname is not null and a.atttypid = 'json'::regtype), '{}') as json,
  coalesce(array_agg(a.attname::text order by a.attnum) filter (where l.attname is null), '{}') as missing
from pg_class t
join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
left join pg_index k on k.indrelid = t.oid and k.indisprimary and a.attnum = any (k.indkey)
left join pg_attribute l on l.attrelid = to_regclass(format('projection.%I', t.relname))
  and l.attname = a.attname and l.atttypid = a.atttypid and not l.attisdropped
where t.relnamespace = $1::regnamespace
  and t.relkind = 'r'
  and t.relname not in ('generation', 'position')
group by t.relname
order by t.relname
