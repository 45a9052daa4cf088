-- What a grant ($3, $4) allows in the phone system $2, in partition $1, read from the partition's node: whether it covers it, the age of the partition
-- that decides about an organization, the extension ($5) that the key is narrowed to, and the number of the generation's partitions.
select
  exists (
    select
    from projection.phone_system s
    where s.partition = $1
      and s.id = $2
      and case $3::text
        when 'system' then s.id = $4::uuid
        when 'organization' then s.organization_id = $4
        when 'group' then exists (
          select
          from projection.phone_system_group_member m
          where m.system_id = s.id
            and m.group_id = $4
        )
      end
  ) as covered,
  case
    when $3 = 'organization' then (
      select extract(epoch from now() - w.watermark)::float8
      from projection.position w
      where w.partition = $1
        and w.watermark > to_timestamp(0)
    )
  end as coverage_age,
  (
    select e.id
    from projection.extension e
    where e.partition = $1
      and e.system_id = $2
      and e.id = $5::uuid
  ) as own_extension_id,
  coalesce(g.partitions, 0) as partitions
from projection.generation g
