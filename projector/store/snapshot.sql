-- Begins a transaction in which rows are compared. It is idle while the other rows are read or folded, possibly for longer than the server
-- allows. Rows are read in the order of their keys, from their primary keys: nothing is sorted, kept in memory or read ahead, whatever the
-- planner takes the tables for. A plan that has no other way is expensive, which must not make the server compile it.
--
-- On a Citus cluster, each node has one session, so that a transaction has one snapshot of it.
begin isolation level repeatable read read only;
set local citus.max_adaptive_executor_pool_size = 1;
set local idle_in_transaction_session_timeout = 0;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
set local enable_sort = off;
set local max_parallel_workers_per_gather = 0;
set local jit = off
