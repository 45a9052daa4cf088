-- Settings of the transaction with a snapshot of both generations. The last statement takes the snapshot, on every node of a cluster.
set local idle_in_transaction_session_timeout = 0;
set local work_mem = '64MB';
set local max_parallel_workers_per_gather = 0;
set local jit = off;
select count(*) from projection.position l join %s.position n using (partition, sequence)
