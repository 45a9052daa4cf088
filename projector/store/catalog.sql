select name, attname::text, attlen
from unnest($2::text[]) as name
join pg_attribute on attrelid = to_regclass($1 || name)
where attnum > 0
  and not attisdropped
