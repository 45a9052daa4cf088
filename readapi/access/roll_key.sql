-- A key ($2) like another ($1), of its lineage. The other ends with the overlap, or when it would have, if that is sooner.
with old as (
  update access.key
  set expires_at = least(expires_at, now() + $6::interval)
  where id = $1
  returning *
)
insert into access.key (
  id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes, own_extension_id, allowed_networks, tier, expires_at
)
select
  $2, lineage, name, $3, $4, $5, grant_kind, grant_id, scopes, own_extension_id, allowed_networks, tier, now() + $7::interval
from old
