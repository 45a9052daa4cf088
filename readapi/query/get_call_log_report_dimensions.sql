-- Everything that a retained call refers to. A reference by id is listed if its target exists, a code always. The offset keeps the kind out of
-- the choice of the index. $1 partition, $2 system.
with
  member as (
    select split_part(m.list, '/', 2) as family, m.subset as key
    from projection.row_count m
    where m.partition = $1
      and m.system_id = $2
      and m.list like 'reference/%'
  ),
  dimension as (
    select
      m.family,
      m.key,
      d.name,
      d.number,
      d.status,
      null as source,
      null::double precision as score,
      d.updated_at
    from member m
    cross join lateral (
      select t.kind, t.name, t.number, t.status, t.updated_at
      from projection.topology t
      where t.partition = $1 and t.system_id = $2 and t.id = m.key::uuid
      offset 0
    ) d
    where m.family = 'call_group'
      and d.kind = 'call-group'
    union all
    select
      m.family,
      m.key,
      d.name,
      d.number,
      d.status,
      null,
      null,
      d.updated_at
    from member m
    cross join lateral (
      select t.kind, t.name, t.number, t.status, t.updated_at
      from projection.topology t
      where t.partition = $1 and t.system_id = $2 and t.id = m.key::uuid
      offset 0
    ) d
    where m.family = 'extension'
      and d.kind = 'extension'
    union all
    select
      m.family,
      m.key,
      d.name,
      null,
      d.status,
      null,
      null,
      d.updated_at
    from member m
    join projection.representative d on d.partition = $1 and d.system_id = $2 and d.id = m.key::uuid
    where m.family = 'representative'
    union all
    select
      m.family,
      m.key,
      d.label,
      null,
      d.status,
      case
        when d.code is null then 'fallback'
        when d.system_id = $2 then 'phone_system_override'
        else 'global_default'
      end,
      case when m.family <> 'category' then d.score end,
      d.updated_at
    from member m
    -- The system's classification or, if it has none, the global one.
    left join lateral (
      select c.system_id, c.code, c.label, c.status, c.score, c.updated_at
      from projection.classification c
      where c.system_id in ($2, '00000000-0000-0000-0000-000000000000')
        and c.kind = m.family
        and c.code = m.key
      order by c.system_id desc
      limit 1
    ) d on true
    where m.family in ('category', 'overall_sentiment', 'employee_sentiment', 'customer_sentiment')
  )
select
  coalesce(w.watermark, 'epoch') as watermark,
  now() as generated_at,
  d.family,
  d.key,
  d.name,
  d.number,
  d.status,
  d.source,
  d.score,
  d.updated_at
from projection.phone_system s
left join projection.position w on w.partition = $1
left join dimension d on true
where s.partition = $1
  and s.id = $2
-- In the order of the response's arrays.
order by
  array_position(
    array['call_group', 'extension', 'representative', 'category', 'overall_sentiment', 'employee_sentiment', 'customer_sentiment'],
    d.family
  ),
  d.key
