-- A second revocation does not change the time of the first.
update access.key
set revoked_at = least(revoked_at, now())
where id = $1
