insert into access.key (
  id, lineage, name, short, hash, pepper_id, grant_kind, grant_id, scopes, own_extension_id, allowed_networks, tier, expires_at
)
values ($1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
returning created_at
