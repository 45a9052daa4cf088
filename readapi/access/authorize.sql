-- Everything that decides about a key and the phone system in the path ($2, in partition $3; null if the path has none), in one snapshot,
-- and the number of the generation's partitions: with another one, the phone system may be in another partition. $4 is the partition of
-- the groups.
--
-- The age is how far the partition that decides about the grant is behind: coverage_age.sql, or coverage_age_of_list.sql without a
-- phone system.
select
  k.id,
  k.lineage,
  k.hash,
  k.pepper_id,
  k.grant_kind,
  k.grant_id,
  k.scopes,
  k.allowed_networks,
  k.tier,
  k.revoked_at is not null as revoked,
  coalesce(k.expires_at <= now(), false) as expired,
  exists (
    select
    from projection.phone_system s
    where s.partition = $3
      and s.id = $2
      and case k.grant_kind
        when 'system' then s.id = k.grant_id
        when 'organization' then s.organization_id = k.grant_id
        when 'group' then exists (
          select
          from projection.phone_system_group_member m
          where m.system_id = s.id
            and m.group_id = k.grant_id
        )
      end
  ) as covered,
  {{coverage_age}} as coverage_age,
  k.own_extension_id is not null as narrowed,
  case when not exists (
    select
    from projection.tombstone t
    where t.partition = $3
      and t.system_id = $2
      and t.entity = 'extension'
      and t.key = k.own_extension_id::text
  ) then k.own_extension_id end as own_extension_id,
  (select coalesce(g.partitions, 0) from projection.generation g) as partitions
from access.key k
where k.short = $1
