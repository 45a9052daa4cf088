-- The partition follows from the phone system, so it selects nothing more. A planner without statistics takes it for a column of 200
-- values, expects a single row of a phone system, and finds any index good enough. Some rows of one partition give it the statistics of this
-- column alone; it has no others until autovacuum first analyzes the table.
do $$
declare
  name regclass;
  columns jsonb;
  number integer;
begin
  for name, columns in
    select
      attrelid,
      jsonb_object_agg(attname, case atttypid::regtype::text
        when 'smallint' then '0'
        when 'uuid' then repeat('0', 30) || '%'
        when 'date' then '2000-01-%'
        when 'timestamp with time zone' then '2000-01-%'
        when 'boolean' then 'false'
        when 'uuid[]' then '{}'
        else '%'
      end)
    from pg_attribute
    join pg_class c on c.oid = attrelid
    where relnamespace = current_schema()::regnamespace
      and relkind in ('r', 'p')
      and attnum > 0
    group by attrelid
    having bool_or(attname = 'partition') and bool_or(atttypid = 'uuid'::regtype)
  loop
    for number in 10..30 loop -- of fewer, ANALYZE would estimate how the values multiply
      execute format('insert into %s select * from jsonb_populate_record(null::%1$s, %L)', name, replace(columns::text, '%', number::text));
    end loop;
    execute format('analyze %s (partition)', name);
    execute format('truncate %s', name);
  end loop;
end
$$;
