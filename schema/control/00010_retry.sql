-- +goose Up
-- A retry publishes the message of a dead letter again. The columns retry_requested_at, retry_position, retry_clock and retry_seq, the
-- sequence dead_letter_retry_seq and generation_part.retry_seq are the previous release's, whose programs run on this schema.
alter table control.dead_letter
  add column tries integer not null default 0, -- how many retries have failed
  add column failed_at timestamptz, -- when the last retry failed; null: none has
  add column retried_at timestamptz, -- when the retry was published that is not decided yet
  add column retry_sequence bigint; -- of that retry; of a dead letter that was applied, of the retry that applied it

alter table control.dead_letter drop column state;
alter table control.dead_letter
  add column state text not null
    generated always as (
      coalesce(resolution, case when coalesce(retried_at, retry_requested_at) is null then 'open' else 'waiting' end)
    ) stored;

alter table control.generation_part alter column retry_seq set default 0;

-- The retries that failed. A replay counts them as dead, although it may be able to apply them.
create table control.failed_retry (
  stream         text        not null,
  stream_created timestamptz not null,
  sequence       bigint      not null, -- of the retry
  partition      smallint    not null,
  stored_at      timestamptz not null, -- by the stream
  reason         text        not null,
  primary key (stream, stream_created, sequence)
);

grant select, insert, update on control.failed_retry to callboard_projector;
grant select on control.failed_retry to callboard_operator;
grant update (tries, failed_at, retried_at, retry_sequence) on control.dead_letter to callboard_projector;

-- +goose Down
drop table control.failed_retry;
alter table control.generation_part alter column retry_seq drop default;
alter table control.dead_letter drop column state;
alter table control.dead_letter
  add column state text not null
    generated always as (coalesce(resolution, case when retry_requested_at is null then 'open' else 'waiting' end)) stored;
alter table control.dead_letter
  drop column tries,
  drop column failed_at,
  drop column retried_at,
  drop column retry_sequence;
