-- Copies a key ($1) to a new key ($2) of the same lineage. The old key ends after the overlap ($6), or at its own expiry if that is
-- earlier.
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
