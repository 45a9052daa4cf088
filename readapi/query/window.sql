  days as not materialized (
    select
      d.day,
      d.day::timestamp at time zone 'UTC' as start,
      (d.day + 1)::timestamp at time zone 'UTC' as until,
      d.count
    from projection.day_count d
    where d.partition = $1
      and d.system_id = $2
      and d.list = '{{list}}'
      and d.subset = $10::text
  ),
  -- What the window has before and after its whole days, counted from the index.
  rest as (
    select
      $7::timestamptz as start,
      $4::timestamptz as until,
      count(*)::integer as count
    from ({{keys}}) k
    where k.created_at >= $7
      and k.created_at < $4
    union all
    select
      $3,
      $6,
      count(*)::integer
    from ({{keys}}) k
    where k.created_at >= $3
      and k.created_at < $6
  ),
  -- The window in parts, each with its number of rows: whole months, the whole days after and before them, and the rest.
  part as (
    select
      m.month::timestamp at time zone 'UTC' as start,
      (m.month + interval '1 month') at time zone 'UTC' as until,
      m.count
    from projection.month_count m
    where m.partition = $1
      and m.system_id = $2
      and m.list = '{{list}}'
      and m.subset = $10::text
      and m.month >= ($8::timestamptz at time zone 'UTC')::date
      and m.month < ($9::timestamptz at time zone 'UTC')::date
    union all
    select
      d.start,
      d.until,
      d.count
    from days d
    where d.day >= ($9::timestamptz at time zone 'UTC')::date
      and d.day < ($7::timestamptz at time zone 'UTC')::date
    union all
    select
      d.start,
      d.until,
      d.count
    from days d
    where d.day >= ($6::timestamptz at time zone 'UTC')::date
      and d.day < ($8::timestamptz at time zone 'UTC')::date
    union all
    select
      r.start,
      r.until,
      r.count
    from rest r
  )