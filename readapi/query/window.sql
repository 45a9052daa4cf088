  -- The rows of the window by day: of whole days as the projector has counted them; of the day after these and the day before them, as far as
  -- they are in the window, counted from the index.
  part as (
    select
      d.day,
      d.count
    from projection.row_count d
    where d.partition = $1
      and d.system_id = $2
      and d.list = '{{list}}'
      and d.subset = $8::text
      and d.day >= ($6::timestamptz at time zone 'UTC')::date
      and d.day < ($7::timestamptz at time zone 'UTC')::date
    union all
    select
      ($7 at time zone 'UTC')::date,
      count(*)::integer
    from ({{keys}}) k
    where k.created_at >= $7
      and k.created_at < $4
    union all
    select
      ($6 at time zone 'UTC')::date - 1,
      count(*)::integer
    from ({{keys}}) k
    where k.created_at >= $3
      and k.created_at < $6
  )