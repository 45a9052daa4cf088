-- +goose Up
-- Names in the field's terms. The projectors of the previous release stop at the first statement that names a renamed column, so
-- they are stopped before this migration runs; readers go on.
alter table control.clock_lift rename to clock_adjustment;
alter table control.clock_adjustment rename column time to clock;

alter sequence control.dead_letter_turn rename to dead_letter_retry_seq;
alter table control.dead_letter rename column turn to retry_seq;
alter table control.dead_letter rename column position to retry_position;
alter table control.dead_letter rename column clock to retry_clock;
alter table control.dead_letter rename column retry_at to retry_requested_at;

alter table control.generation_part rename column turn to retry_seq;

-- Building, then live in the schema "projection", then previous (kept for a rollback) or dropped.
alter table control.generation rename column begun_at to started_at;
alter table control.generation drop constraint generation_state_check;
update control.generation set state = 'previous' where state = 'kept';
alter table control.generation
  add constraint generation_state_check check (state in ('building', 'live', 'previous', 'dropped'));

-- What becomes of a dead letter: open, waiting for a requested retry, or its resolution.
alter table control.dead_letter
  add column state text not null
    generated always as (coalesce(resolution, case when retry_requested_at is null then 'open' else 'waiting' end)) stored;

-- The projector sessions that own partitions. A session owns a partition by an advisory lock of two keys (objsubid 2): the class
-- 0x63616c6c and the partition. A role other than the session's own sees state_change as null, like in pg_stat_activity.
create view control.partition_owner as
  select
    l.objid::bigint::integer as partition,
    l.pid,
    a.application_name,
    a.state_change
  from pg_locks l
  join pg_stat_activity a using (pid)
  where l.locktype = 'advisory'
    and l.classid::bigint = x'63616c6c'::bigint
    and l.objsubid = 2
    and l.granted
    and l.database = (select oid from pg_database where datname = current_database());

grant select on control.partition_owner to callboard_projector, callboard_operator;

-- +goose Down
drop view control.partition_owner;
alter table control.dead_letter drop column state;

alter table control.generation drop constraint generation_state_check;
update control.generation set state = 'kept' where state = 'previous';
alter table control.generation
  add constraint generation_state_check check (state in ('building', 'live', 'kept', 'dropped'));
alter table control.generation rename column started_at to begun_at;

alter table control.generation_part rename column retry_seq to turn;

alter table control.dead_letter rename column retry_requested_at to retry_at;
alter table control.dead_letter rename column retry_clock to clock;
alter table control.dead_letter rename column retry_position to position;
alter table control.dead_letter rename column retry_seq to turn;
alter sequence control.dead_letter_retry_seq rename to dead_letter_turn;

alter table control.clock_adjustment rename column clock to time;
alter table control.clock_adjustment rename to clock_lift;
