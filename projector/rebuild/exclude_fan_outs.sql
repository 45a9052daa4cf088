-- Waits for fan-outs and registrations of webhook endpoints, and excludes them until the transaction ends: they have read cursors and
-- floors. One whose process hangs is not waited for long.
set local lock_timeout = '2s';
select pg_advisory_xact_lock(x'686f6f6b'::integer, -1);
set local lock_timeout = 0
