-- Every counter that differs from what the rows say, as text. Run with the projection on the search path.
with
  listed (system_id, list, subset, created_at) as (
    select system_id, kind, unnest(array['', nullif(status, '')]), created_at from topology
    union all
    select system_id, 'voicemail', '', created_at from voicemail
    union all
    select r.system_id, 'recording', unnest(array['', r.status]), r.created_at
    from recording r
    join call_log c on c.partition = r.partition and c.system_id = r.system_id and c.id = r.owner_id
    where r.owner = 'call' and r.status <> 'unavailable'
    union all
    select system_id, 'call_log', '', created_at from call_log
    union all
    select system_id, 'call_log', party::text, created_at
    from (
      select system_id, id, created_at, answered_by_extension_id as party from call_log
      union
      select system_id, id, created_at, from_extension_id from call_log
    ) own
    union all
    select a.system_id, 'analysis', '', a.created_at
    from analysis a
    join call_log c on c.partition = a.partition and c.system_id = a.system_id and c.id = a.call_id
    union all
    select system_id, 'analysis', party::text, created_at
    from (
      select a.system_id, a.id, a.created_at, c.answered_by_extension_id as party
      from analysis a
      join call_log c on c.partition = a.partition and c.system_id = a.system_id and c.id = a.call_id
      union
      select a.system_id, a.id, a.created_at, c.from_extension_id
      from analysis a
      join call_log c on c.partition = a.partition and c.system_id = a.system_id and c.id = a.call_id
    ) own
  ),
  referred (system_id, family, key) as (
    select system_id, 'call_group', call_group_id::text from call_log
    union all
    select system_id, 'extension', party::text
    from (
      select system_id, id, answered_by_extension_id as party from call_log
      union
      select system_id, id, from_extension_id from call_log
    ) own
    union all
    select system_id, 'representative', representative_id::text from call_log
    union all
    select system_id, 'category', category from call_log
    union all
    select system_id, 'overall_sentiment', overall_sentiment from call_log
    union all
    select system_id, 'employee_sentiment', employee_sentiment from call_log
    union all
    select system_id, 'customer_sentiment', customer_sentiment from call_log
  ),
  expected as (
    select system_id, list, subset, day, count(*)::integer
    from (
      select system_id, list, subset, (created_at at time zone 'UTC')::date as day from listed
      union all
      select system_id, 'reference/' || family, key, '1970-01-01' from referred
    ) counted
    where subset is not null
    group by 1, 2, 3, 4
  ),
  stored as (
    select system_id, list, subset, day, count from row_count
  )
(select 'row_count says ' || stored::text from stored except select 'row_count says ' || expected::text from expected)
union all
(select 'rows say ' || expected::text from expected except select 'rows say ' || stored::text from stored)
