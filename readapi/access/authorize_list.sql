-- Everything that decides about a key by its short part ($1) and the list of its phone systems, in one snapshot; for a request
-- on one phone system, it is authorize.sql. $2 is the partition of the groups.
--
-- The list of an organization's phone systems is as old as the oldest of their partitions. The limit in the lateral query
-- keeps it a probe for each partition, however many phone systems there are.
select
  k.id,
  k.lineage,
  k.hash,
  k.pepper_id,
  k.grant_kind,
  k.grant_id,
  k.scopes,
  k.own_extension_id,
  k.allowed_networks,
  k.tier,
  k.revoked_at is not null as revoked,
  coalesce(k.expires_at <= now(), false) as expired,
  false as covered,
  case k.grant_kind
    when 'group' then (
      select extract(epoch from now() - w.watermark)::float8
      from projection.position w
      where w.partition = $2
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
  end as coverage_age,
  null::uuid as extension_id,
  (select coalesce(g.partitions, 0) from projection.generation g) as partitions
from access.key k
where k.short = $1
