-- A key by its short part, where what it covers is on another server. authorize.sql reads both at once.
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
  coalesce(k.expires_at <= now(), false) as expired
from access.key k
where k.short = $1
