-- +goose Up
alter table control.generation rename column ddl to definition;
alter table control.generation rename column built_at to begun_at;

-- A generation is building, then live in the schema "projection", then kept for a rollback or dropped. All others are in generation_<id>.
alter table control.generation
  add column state text not null default 'building' check (state in ('building', 'live', 'kept', 'dropped')),
  add column stream text,
  add column stream_created timestamptz,
  add column switched_at timestamptz; -- when it went live last

update control.generation
set state = case when id = (select max(id) from control.generation) then 'live' else 'dropped' end,
    switched_at = begun_at;

create unique index generation_live on control.generation (state) where state = 'live';
create unique index generation_building on control.generation (state) where state = 'building';

-- The parts in which a generation is filled: some phone systems of a partition each, in one transaction. A part that is done is not filled
-- again after a crash.
create table control.generation_part (
  generation bigint   not null references control.generation,
  partition  smallint not null,
  part       integer  not null,
  systems    uuid[], -- null: all of the partition's
  sequence   bigint   not null, -- up to which the stream is folded
  turn       bigint   not null, -- up to which retries of dead letters are
  read       bigint, -- messages; null until the part is done
  primary key (generation, partition, part)
);

-- A dead letter stays one in every later generation, so that a replay gives the same rows, until a retry applies it: behind the position and
-- at the clock of its row, in the order of the sequence's numbers.
create sequence control.dead_letter_turn;

alter table control.dead_letter
  add column generation bigint not null default 0, -- the first in which it is one
  add column retry_at timestamptz, -- when an operator requested a retry
  add column resolution text check (resolution in ('applied', 'stale', 'ignored', 'dropped')), -- null: open
  add column resolved_at timestamptz,
  add column position bigint,
  add column clock timestamptz,
  add column turn bigint;

create index dead_letter_retry on control.dead_letter (stream, stream_created, partition) where retry_at is not null;
create index dead_letter_partition on control.dead_letter (stream, stream_created, partition, sequence);

grant update (generation, reason, retry_at, resolution, resolved_at, position, clock, turn) on control.dead_letter to callboard_projector;
grant usage on sequence control.dead_letter_turn to callboard_projector;
grant select on control.generation_part to callboard_operator;

-- +goose Down
drop table control.generation_part;
alter table control.dead_letter
  drop column generation,
  drop column retry_at,
  drop column resolution,
  drop column resolved_at,
  drop column position,
  drop column clock,
  drop column turn;
drop index control.dead_letter_partition;
drop sequence control.dead_letter_turn;
drop index control.generation_building, control.generation_live;
alter table control.generation
  drop column switched_at,
  drop column stream_created,
  drop column stream,
  drop column state;
alter table control.generation rename column begun_at to built_at;
alter table control.generation rename column definition to ddl;
