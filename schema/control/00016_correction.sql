-- +goose Up
-- Calls that show other values although no event changed them: a rebuild, a repair or a rollback did. Their updated_at is clock or later as soon as
-- the partition's watermark has reached clock, so that clients which walk by updatedAt read them again. A replay needs the records to give rows the
-- same times.
create table control.correction (
  id             bigint      generated always as identity primary key,
  stream         text        not null,
  stream_created timestamptz not null,
  partition      smallint    not null,
  system_id      uuid, -- null: all phone systems of the partition
  call_id        uuid, -- null: all calls of the phone system
  since          timestamptz not null, -- only calls whose updated_at is this or later
  clock          timestamptz not null, -- later than every watermark when it was recorded
  recorded_at    timestamptz not null default now()
);

create index on control.correction (stream, stream_created, partition, clock);

grant select on control.correction to callboard_projector, callboard_operator;

-- +goose Down
drop table control.correction;
