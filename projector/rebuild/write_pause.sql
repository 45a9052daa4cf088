-- Commits of the live generation write its positions, so they wait for this lock; reads do not. A commit that has begun is waited for,
-- but not for long, in case its projector hangs. Should this process be frozen, the pause ends with its session.
--
-- On a Citus cluster, the settings hold on the nodes, too.
set local citus.propagate_set_commands = 'local';
set local lock_timeout = '2s';
select control.pause_writes();
set local lock_timeout = 0;
set local idle_in_transaction_session_timeout = '15s'
