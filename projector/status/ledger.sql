-- A generation of an earlier release has none.
select to_regclass('projection.coverage') is not null
