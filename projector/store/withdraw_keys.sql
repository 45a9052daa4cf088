-- Ends keys at the given times, or earlier, and returns those that this has changed.
select w.id
from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) as w (id, revoked_at, expires_at)
where access.withdraw(w.id, w.revoked_at, w.expires_at)
