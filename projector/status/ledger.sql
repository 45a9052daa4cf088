-- A generation of an earlier release has none.
select to_regclass('projection.message_count') is not null
