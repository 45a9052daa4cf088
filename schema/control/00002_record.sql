-- +goose Up
-- Messages that couldn't be applied, kept whole.
create table control.dead_letter (
  id             bigint      generated always as identity primary key,
  stream         text        not null,
  stream_created timestamptz not null,
  sequence       bigint      not null,
  partition      smallint    not null,
  subject        text        not null,
  header         bytea       not null, -- as on the wire
  data           bytea       not null,
  reason         text        not null,
  stored_at      timestamptz not null, -- by the stream
  recorded_at    timestamptz not null default now(),
  unique (stream, stream_created, sequence)
);

-- The messages at which a partition's clock was moved to a published watermark. A replay needs them to give rows the same times.
create table control.clock_lift (
  stream         text        not null,
  stream_created timestamptz not null,
  partition      smallint    not null,
  sequence       bigint      not null,
  time           timestamptz not null,
  primary key (stream, stream_created, partition, sequence)
);

-- The generations of the projection. ddl is the SHA-256 of the files it was built from.
create table control.generation (
  id       bigint      generated always as identity primary key,
  ddl      bytea       not null,
  built_at timestamptz not null default now()
);

grant select, insert on control.dead_letter, control.clock_lift to callboard_projector;
grant select on control.generation to callboard_projector;
grant select, update, delete on control.dead_letter to callboard_operator;
grant select on control.clock_lift, control.generation to callboard_operator;

-- +goose Down
drop table control.generation, control.clock_lift, control.dead_letter;
