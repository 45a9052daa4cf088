-- +goose Up
-- Streams that were adopted in place of another one, of which they have all messages with their sequences and times. Positions and all that was
-- decided about messages stay recorded under the identity of the first stream of such a history.
create table control.adopted_stream (
  id              bigint      generated always as identity primary key, -- the highest of a history is the stream that is read
  stream          text        not null,
  stream_created  timestamptz not null,
  history         text        not null, -- name of the history's first stream
  history_created timestamptz not null, -- when that was created
  adopted_at      timestamptz not null default now(),
  unique (stream, stream_created)
);

grant select on control.adopted_stream to callboard_projector, callboard_operator;

-- +goose Down
drop table control.adopted_stream;
