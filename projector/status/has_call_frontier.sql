-- A generation of an earlier release has no call frontiers.
select to_regclass('projection.call_frontier') is not null
