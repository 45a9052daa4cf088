-- A batch names its rows by key, and all its plans are to use indexes. The planner would decide otherwise for a projection that fills
-- up: it has no statistics yet, and a large batch beside a small table looks like a reason to read the whole table.
set enable_seqscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set plan_cache_mode = force_generic_plan;
-- A scan that can't be avoided costs so much under enable_seqscan = off that it would be compiled.
set jit = off;
-- A process that is frozen in a transaction must not keep its row locks.
set idle_in_transaction_session_timeout = '10s';
discard plans;
