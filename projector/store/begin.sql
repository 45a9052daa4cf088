-- A batch names the rows that it wants. A projection that fills up has no statistics to plan by, and one large batch beside a
-- small table looks like a reason to read all of it: every batch would read tables whole.
begin;
-- Who was frozen in a transaction must not keep its locks.
set local idle_in_transaction_session_timeout = '10s';
set local enable_seqscan = off;
set local enable_hashjoin = off;
set local enable_mergejoin = off;
set local plan_cache_mode = force_generic_plan;
