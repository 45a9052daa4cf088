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

-- +goose Down
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
