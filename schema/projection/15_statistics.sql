-- The partition follows from the phone system, so it selects nothing more. A planner without statistics takes it for a column of 200
-- values, and the phone system, the status and the kind, too. It expects a single row of a phone system, and finds any index good enough that begins
-- with the phone system. Some rows give it statistics of one partition, few phone systems, statuses and kinds; it has no others until
-- autovacuum first analyzes the table.
do $$
declare
  assumed constant jsonb := '{"partition": 1, "system_id": 16, "status": 4, "kind": 6}'; -- how many values a column has
  name regclass;
  columns jsonb;
  number integer;
  known text;
  assume text;
  forget text;
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
      and relname <> 'position' -- its UUID is a stream's
      and attnum > 0
    group by attrelid
    having bool_or(attname = 'partition') and bool_or(atttypid = 'uuid'::regtype)
  loop
    for number in 10..30 loop -- of fewer, ANALYZE would estimate how the values multiply
      execute format('insert into %s select * from jsonb_populate_record(null::%1$s, %L)', name, replace(columns::text, '%', number::text));
    end loop;
    select
      string_agg(key, ', '),
      string_agg(format('alter %s set (n_distinct = %s)', key, value), ', '),
      string_agg(format('alter %s reset (n_distinct)', key), ', ')
    into known, assume, forget
    from jsonb_each_text(assumed)
    where columns ? key;
    execute format('alter table %s %s', name, assume);
    execute format('analyze %s (%s)', name, known);
    execute format('alter table %s %s', name, forget);
    execute format('truncate %s', name);
  end loop;
end
$$;
