-- Revoking twice keeps the first instant.
update access.key
set revoked_at = least(revoked_at, now())
where id = $1
