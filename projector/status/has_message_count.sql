-- A generation of an earlier release has no message accounting.
select to_regclass('projection.message_count') is not null
