-- The list of an organization's phone systems is as old as the oldest of their partitions. The limit in the lateral query keeps it a
-- probe per partition, however many phone systems there are.
case k.grant_kind
  when 'group' then (
    select extract(epoch from now() - w.watermark)::float8
    from projection.position w
    where w.partition = $4
      and w.watermark > to_timestamp(0)
  )
  when 'organization' then (
    select extract(epoch from now() - w.watermark)::float8
    from projection.position w
    cross join lateral (
      select
      from projection.phone_system s
      where s.organization_id = k.grant_id
        and s.partition = w.partition
      limit 1
    ) s
    where w.partition >= 0 -- every one, by the index
      and w.watermark > to_timestamp(0)
    order by w.watermark
    limit 1
  )
end
