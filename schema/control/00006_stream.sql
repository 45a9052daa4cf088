-- +goose Up
-- A projector reports missing migrations of its release, and waits.
grant select on control.migration to callboard_projector, callboard_operator;

-- How many partitions a stream had when it was first read. With another number, the events of a phone system would be in two partitions.
create table control.stream (
  stream         text        not null,
  stream_created timestamptz not null,
  partitions     smallint    not null,
  primary key (stream, stream_created)
);

grant select, insert on control.stream to callboard_projector;
grant select on control.stream to callboard_operator;

-- A stream that lost its end gives a sequence again, to a message that can move the clock further.
grant update (time) on control.clock_lift to callboard_projector;

-- +goose Down
revoke update (time) on control.clock_lift from callboard_projector;
drop table control.stream;
revoke select on control.migration from callboard_projector, callboard_operator;
