-- +goose Up
-- How many partitions a stream had when it was first read. With another number, the events of a phone system would be in two partitions.
create table control.stream (
  stream         uuid        primary key, -- in the stream's metadata
  partitions     smallint    not null,
  -- While a generation is built from another stream, the watermarks of this one don't pass this time. Every row of the new generation is later,
  -- so a client that walks by updatedAt reads it again. Null: no such generation is built.
  last_watermark timestamptz
);

-- The generations of the projection. One is building, then live in the schema "projection", then previous (kept for a rollback) or dropped. All
-- but the live one are in generation_<id>.
create table control.generation (
  id             bigint      generated always as identity primary key,
  definition     bytea       not null, -- the SHA-256 of the files it was built from
  started_at     timestamptz not null default now(),
  state          text        not null default 'building' check (state in ('building', 'live', 'previous', 'dropped')),
  stream         uuid,
  switched_at    timestamptz -- when it went live last
);

create unique index generation_live on control.generation (state) where state = 'live';
create unique index generation_building on control.generation (state) where state = 'building';

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

-- Messages that couldn't be applied, kept whole. A dead letter stays one in every later generation, so that a replay gives the same rows, until a
-- retry applies it. A retry publishes the message again.
create table control.dead_letter (
  id             bigint      generated always as identity primary key,
  stream         uuid, -- null: the stream of audit entries
  sequence       bigint      not null,
  partition      smallint    not null,
  subject        text        not null,
  header         bytea       not null, -- as on the wire
  data           bytea       not null,
  reason         text        not null,
  stored_at      timestamptz not null, -- by the stream
  recorded_at    timestamptz not null default now(),
  generation     bigint      not null default 0, -- the first in which it is one
  resolution     text check (resolution in ('applied', 'stale', 'ignored', 'dropped')), -- null: open
  resolved_at    timestamptz,
  -- The retries that failed: of each message its sequence, when the stream stored it, and the reason. A replay counts them as dead, although
  -- it may be able to apply them.
  failures       jsonb       not null default '[]',
  tries          integer     not null generated always as (jsonb_array_length(failures)) stored,
  failed_at      timestamptz, -- when the last retry failed; null: none has
  retried_at     timestamptz, -- when the retry was published that is not decided yet
  retry_sequence bigint, -- of that retry; of a dead letter that was applied, of the retry that applied it
  state          text        not null generated always as (
    coalesce(resolution, case when retried_at is null then 'open' else 'waiting' end)
  ) stored,
  unique (stream, sequence)
);

create index dead_letter_partition on control.dead_letter (stream, partition, sequence);

create index dead_letter_failures on control.dead_letter (stream, partition) where tries > 0;

-- The console reads the newest open dead letters, however many have been resolved.
create index dead_letter_open on control.dead_letter (id) where resolution is null;

-- Makes a message of the live projection a dead letter before it was applied, and returns the dead letter's ID. Every application of the
-- message repeats that. at is the position that the message follows: if it moved, nothing is done, and the result is null. The epoch rises, so
-- that a projector which has not read the dead letter can't commit the message.
-- +goose StatementBegin
create function control.skip(
  stream uuid, partition smallint, at bigint,
  sequence bigint, subject text, header bytea, data bytea, stored_at timestamptz
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  dead_letter bigint;
begin
  update projection.position p
  set epoch = p.epoch + 1
  where p.partition = skip.partition
    and p.stream = skip.stream
    and p.sequence = skip.at;
  if not found then
    return null;
  end if;

  -- A row of the sequence is of a message that the stream has lost, or of a generation that is not live.
  delete from control.dead_letter d
  where d.stream = skip.stream
    and d.sequence = skip.sequence;
  insert into control.dead_letter as d
    (stream, sequence, partition, subject, header, data, reason, stored_at, generation)
  select
    skip.stream, skip.sequence, skip.partition, skip.subject, skip.header, skip.data, 'skipped by an operator',
    skip.stored_at, g.id
  from control.generation g
  where g.state = 'live'
  returning d.id into dead_letter;
  return dead_letter;
end
$$;
-- +goose StatementEnd

-- Corrections of a partition's clock. A replay needs them to give rows the same times. Forward: at a message, the clock moved to a published
-- watermark. Capped: the clock of the stream's server had leapt forward, so of the messages of the partition from first_sequence to
-- last_sequence, those that were stored after clock count as stored at clock.
create table control.clock_adjustment (
  stream         uuid        not null,
  partition      smallint    not null,
  capped         boolean     not null, -- false: forward
  first_sequence bigint      not null, -- of a forward one, the message; 0: any message
  last_sequence  bigint      not null,
  last_stored_at timestamptz, -- of a capped one, when the stream stored the last message; another message with its sequence has another time
  clock          timestamptz not null,
  messages       integer     not null default 0, -- of a capped one, how many count as stored at clock
  recorded_at    timestamptz not null default now(),
  primary key (stream, partition, capped, first_sequence),
  check (first_sequence = last_sequence or capped and first_sequence < last_sequence)
);

create index on control.clock_adjustment (recorded_at) where capped; -- for the status: a leap makes a row in every commit

-- Phone systems whose reports show other values although no event changed them: a rebuild, a repair or a rollback did. No call of one has an
-- updated_at below clock, so clients that walk by updatedAt read its calls again. A replay needs the records to give rows the same times.
create table control.correction (
  stream         uuid        not null,
  partition      smallint    not null,
  system_id      uuid        not null,
  clock          timestamptz not null, -- later than every watermark when it was recorded
  recorded_at    timestamptz not null default now(),
  primary key (stream, system_id)
);

-- The last message of the stream of audit entries whose entries are stored. It is committed with them: a failover that loses entries sets it
-- back, and the entries are read again.
create table control.audit_position (
  one       boolean     primary key default true check (one),
  sequence  bigint      not null check (sequence >= 0), -- of the message; below the first one: none is stored
  stored_at timestamptz -- when the stream stored the message; null: none is stored
);

-- Makes the commit of this transaction wait until it is on the disk of this server and, where there are synchronous standbys, of one of
-- them, whatever the session's defaults are. remote_apply stays as it is: it waits for more.
create function control.commit_durably() returns void
language sql
set search_path = pg_catalog, pg_temp as $$
  select set_config('synchronous_commit', 'on', true)
  where current_setting('synchronous_commit') in ('off', 'local', 'remote_write')
$$;

-- Makes commits of the live generation wait until the transaction ends. Reads do not wait. A commit that has begun is waited for.
-- +goose StatementBegin
create function control.pause_writes() returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  lock table projection.position in share row exclusive mode;
end
$$;
-- +goose StatementEnd

-- The tables of the projection that a verification or a repair builds beside the live one, and drops.
create schema verification;
grant usage, create on schema verification to callboard_operator;

revoke execute on function
  control.commit_durably(), control.pause_writes(), control.skip(uuid, smallint, bigint, bigint, text, bytea, bytea, timestamptz)
from public;

-- A stream that lost its end gives its sequences to other messages. These may be dead letters and move the clock further, too: so the projector
-- replaces rows.
grant select, insert on control.stream, control.dead_letter, control.clock_adjustment to callboard_projector;
grant select, insert, update on control.audit_position to callboard_projector;
grant update (partition, subject, header, data, reason, stored_at, recorded_at, generation, resolution, resolved_at, failures, failed_at, retried_at,
  retry_sequence) on control.dead_letter to callboard_projector;
grant update (last_sequence, last_stored_at, clock, messages, recorded_at) on control.clock_adjustment to callboard_projector;
grant select on control.migration, control.generation,
  control.partition_owner, control.correction to callboard_projector;
grant execute on function control.commit_durably() to callboard_projector;

grant select, delete on control.dead_letter to callboard_operator;
grant update (header, data, resolution, resolved_at, retried_at, retry_sequence) on control.dead_letter to callboard_operator;
grant select on control.migration, control.stream, control.generation,
  control.partition_owner, control.clock_adjustment, control.correction, control.audit_position
to callboard_operator;
grant execute on function
  control.commit_durably(), control.pause_writes(), control.skip(uuid, smallint, bigint, bigint, text, bytea, bytea, timestamptz)
to callboard_operator;

grant usage on schema control to callboard_webhooks;
grant select on control.migration, control.stream to callboard_webhooks;
