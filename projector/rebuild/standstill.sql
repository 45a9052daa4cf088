-- Commits of the live generation write its positions, so they wait from here on; who reads them doesn't. A projector that has begun
-- its commit is waited for, and one that hangs in it isn't waited for long.
-- Should this program be frozen, they wait no longer than its session lives.
set local lock_timeout = '2s';
lock table projection.position in share row exclusive mode;
set local lock_timeout = 0;
set local idle_in_transaction_session_timeout = '15s'
