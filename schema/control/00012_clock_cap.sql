-- +goose Up
-- Messages that count as stored earlier than the stream says, because the clock of its server had leapt forward: of the messages of the
-- partition from first_sequence to last_sequence, those that were stored after clock count as stored at clock. A replay needs them to give
-- rows the same times.
create table control.clock_cap (
  stream         text        not null,
  stream_created timestamptz not null,
  partition      smallint    not null,
  first_sequence bigint      not null,
  last_sequence  bigint      not null,
  last_stored_at timestamptz not null, -- when the stream stored the last message; another message with its sequence has another time
  clock          timestamptz not null,
  messages       integer     not null, -- how many count as stored at clock
  recorded_at    timestamptz not null default now(),
  primary key (stream, stream_created, partition, first_sequence),
  check (first_sequence <= last_sequence)
);

create index on control.clock_cap (recorded_at); -- for the status: a leap makes a row in every commit

grant select, insert, update on control.clock_cap to callboard_projector;
grant select on control.clock_cap to callboard_operator;

-- +goose Down
drop table control.clock_cap;
