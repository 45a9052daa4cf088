-- +goose Up
-- Outbound webhooks: what became fetchable (notices), who is told (endpoints), and what is sent (deliveries). Nothing here can be made
-- again from the stream.
create schema webhook;

-- Registered receivers. They are never deleted while their history is kept: a removed one has the state 'removed'.
create table webhook.endpoint (
  id             uuid        primary key,
  name           text        not null,
  url            text        not null, -- its query can hold a secret of the receiver: never log it
  kinds          text[]      not null check (cardinality(kinds) > 0),
  grant_kind     text        not null check (grant_kind in ('system', 'group', 'organization')), -- the target, as of a key
  grant_id       uuid        not null,
  -- 'adding': deliveries are created, and nothing is sent until the stream's last sequence at the registration is known. Deliveries of a
  -- paused or disabled endpoint wait.
  state          text        not null check (state in ('adding', 'active', 'paused', 'disabled', 'removed')),
  reason         text        check (reason in ('gone', 'failing')), -- of 'disabled': answered 410, or no success for too long
  concurrency    smallint    not null default 8 check (concurrency between 1 and 64),
  -- The signing secrets, encrypted, the newest first: of each its id, key_id (of the key that encrypted it), sealed, created_at, and
  -- expires_at unless it is current. Requests are signed with all that have not expired, up to ten. A new one replaces those that have.
  secrets        jsonb       not null default '[]',
  stream         uuid, -- events above from_sequence are for it, and all of other streams; null while 'adding'
  from_sequence  bigint,
  succeeded_at   timestamptz, -- the last success; null: none
  failed_at      timestamptz, -- the last failure; null: none
  failing_since  timestamptz, -- the first failure since the last success; null: none
  failures       integer     not null default 0, -- since the last success
  created_at     timestamptz not null default now(),
  stopped_at     timestamptz, -- since when it is paused, disabled or removed: the time left of waiting deliveries does not shrink meanwhile

  -- The breaker. While it is open, the oldest delivery alone is tried, at probe_at.
  probe_at       timestamptz, -- null: it is closed
  slots          smallint, -- requests at once since it closed, one more for each success; null: as many as concurrency says

  -- The lease: one sender sends, as long as its session is there and it renews the lease.
  leased_by      integer, -- the process id of the session
  leased_until   timestamptz
) with (fillfactor = 70);

-- All that the projector knows about endpoints: whether there is one.
create view webhook.in_use as
  select exists (select from webhook.endpoint where state <> 'removed') as used;

-- What became fetchable, written in the transaction of the rows and the position. A day (UTC) of recorded_at is a table.
create table webhook.notice (
  stream         uuid        not null,
  partition      smallint    not null,
  sequence       bigint      not null, -- of the message that made it fetchable
  ordinal        smallint    not null, -- of several of one message: 0, 1, …
  id             text        not null, -- of the event: derived from what happened, so a repetition has the same
  kind           text        not null,
  system_id      uuid        not null,
  call_sid       text        not null,
  recording_sid  text, -- one of these three at most, as the kind says
  call_log_id    uuid,
  voicemail_id   uuid,
  at             timestamptz not null, -- when the stream stored the message; the event's timestamp
  traceparent    text, -- of the message; null: none
  recorded_at    timestamptz not null default now()
) partition by range (recorded_at);
create index notice_position on webhook.notice (stream, partition, sequence, ordinal);
create index notice_system on webhook.notice (system_id, at);

-- Up to which sequence a partition's notices are written. A message at or below it writes none, so nothing is said twice by a replay. It is
-- written with notices, and by the switch of a generation. All notices up to it are visible to whoever sees it.
create table webhook.floor (
  stream         uuid        not null,
  partition      smallint    not null,
  sequence       bigint      not null,
  primary key (stream, partition)
) with (fillfactor = 50);

-- Up to which sequence a partition's notices are fanned out to deliveries. Whoever fans out locks the row.
create table webhook.fanout (
  stream         uuid        not null,
  partition      smallint    not null,
  sequence       bigint      not null default 0,
  primary key (stream, partition)
) with (fillfactor = 50);

-- One event for one endpoint. What waits to be sent is in one partition, which is small, and what has ended in others. An update of
-- finished_at moves a row between them.
create sequence webhook.delivery_id_seq;
create table webhook.delivery (
  id             bigint      not null default nextval('webhook.delivery_id_seq'), -- rises in the order of a partition's notices
  endpoint_id    uuid        not null,
  stream         uuid        not null,
  sequence       bigint      not null,
  event_id       text        not null,
  kind           text        not null,
  system_id      uuid        not null,
  call_sid       text        not null,
  recording_sid  text,
  call_log_id    uuid,
  voicemail_id   uuid,
  at             timestamptz not null,
  traceparent    text,
  cause          text        not null default 'fired' check (cause in ('fired', 'redelivered', 'replayed')),
  attempts       jsonb       not null default '[]', -- the newest 32 requests: of each at (its start), status, error, answer and ms
  tries          integer     not null default 0, -- since it was fired, or redelivered last
  due_at         timestamptz not null default now(), -- of the next attempt
  expires_at     timestamptz, -- of the last attempt; null: none was made
  created_at     timestamptz not null default now(),
  state          text        not null default 'waiting' check (state in ('waiting', 'delivered', 'dead', 'skipped')),
  finished_at    timestamptz not null default 'infinity' check ((finished_at = 'infinity') = (state = 'waiting'))
) partition by range (finished_at);
alter sequence webhook.delivery_id_seq owned by webhook.delivery.id;
create index delivery_id on webhook.delivery (id);

create table webhook.waiting partition of webhook.delivery (
  foreign key (endpoint_id) references webhook.endpoint
) for values from ('infinity') to (maxvalue) with (fillfactor = 70);
create index waiting_due on webhook.waiting (endpoint_id, due_at, id);
create index waiting_order on webhook.waiting (endpoint_id, id);

-- A day (UTC) of finished_at is a table.
create table webhook.finished partition of webhook.delivery for values from (minvalue) to ('infinity') partition by range (finished_at);
create index finished_endpoint on webhook.finished (endpoint_id, finished_at);
create index finished_dead on webhook.finished (endpoint_id) where state = 'dead';

-- Requests that an operator asks a sender to make. They count for nothing else.
create table webhook.test (
  id           uuid        primary key,
  endpoint_id  uuid        not null, -- also one that is not registered yet
  url          text        not null,
  kind         text        not null, -- callboard.test, or a kind with random identifiers
  secrets      jsonb       not null, -- of the endpoint
  requested_at timestamptz not null default now(),
  taken_at     timestamptz, -- by a sender
  outcome      jsonb -- as an attempt of a delivery; null: there is none yet
);

-- Changes by operators, and endpoints that a sender disabled.
create table webhook.audit (
  id          bigint      generated always as identity primary key,
  at          timestamptz not null default now(),
  role        text        not null default session_user,
  by          text        not null, -- a person, or 'sender'
  command     text        not null,
  endpoint_id uuid        not null,
  before      jsonb, -- without secrets and the query of the URL
  after       jsonb
);
create index audit_endpoint on webhook.audit (endpoint_id, at);

-- Rows of a day without a table of its own are in the default partitions.
create table webhook.notice_default partition of webhook.notice default;
create table webhook.finished_default partition of webhook.finished default;

-- The tables of days and their bounds, without the default partitions.
create view webhook.day as
  select
    inhparent::regclass as parent,
    c.oid::regclass     as partition,
    c.relname           as name,
    substring(bound from 'FROM \(''([^'']+)''\)')::timestamptz as first,
    substring(bound from 'TO \(''([^'']+)''\)')::timestamptz   as past
  from pg_inherits
  join pg_class c on c.oid = inhrelid
  cross join lateral pg_get_expr(c.relpartbound, c.oid) bound
  where inhparent in ('webhook.notice'::regclass, 'webhook.finished'::regclass)
    and bound <> 'DEFAULT';

-- Creates the table of a day (UTC) of notices or finished deliveries ('notice', 'finished'): one in a transaction, since it excludes all
-- others from the default partition, and readers of several tables lock these in any order. It returns false where the table could not be
-- created: the default partition has rows of the day, or an operator detached a table. Rows of such a day are in the default partition.
-- +goose StatementBegin
create function webhook.open_day(kind text, day date) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO' set lock_timeout = '2s' as $$
begin
  if kind not in ('notice', 'finished') then
    raise exception 'webhook.open_day: % is neither notice nor finished', kind using errcode = 'invalid_parameter_value';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('webhook.day', 0));
  if exists (
    select from webhook.day d where d.parent = ('webhook.' || open_day.kind)::regclass and d.first = open_day.day::timestamptz
  ) then
    return true;
  end if;
  execute format('create table webhook.%I partition of webhook.%I for values from (%L) to (%L)',
    kind || '_' || to_char(day, 'YYYYMMDD'), kind, day::timestamptz, (day + 1)::timestamptz);
  return true;
exception when duplicate_table or check_violation or invalid_object_definition or lock_not_available then
  return false;
end
$$;
-- +goose StatementEnd

-- Drops the oldest table of the days before one, and returns whether there was any: one in a transaction, as above. Where there is none, it
-- deletes such rows of the default partitions, up to ten thousand of each.
-- +goose StatementBegin
create function webhook.drop_before(day date) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO' set lock_timeout = '2s' as $$
declare
  old regclass;
begin
  perform pg_advisory_xact_lock(hashtextextended('webhook.day', 0));
  select d.partition
  into old
  from webhook.day d
  where d.name ~ '_[0-9]{8}$'
    and d.past <= day::timestamptz
  order by d.past, d.name
  limit 1;
  if old is not null then
    execute format('drop table %s', old);
    return true;
  end if;
  delete from webhook.notice_default
  where ctid = any (array(select ctid from webhook.notice_default where recorded_at < day::timestamptz limit 10000));
  delete from webhook.finished_default
  where ctid = any (array(select ctid from webhook.finished_default where finished_at < day::timestamptz limit 10000));
  return false;
end
$$;
-- +goose StatementEnd

revoke execute on function webhook.open_day(text, date), webhook.drop_before(date) from public;
grant execute on function webhook.open_day(text, date), webhook.drop_before(date) to callboard_webhooks;

grant usage on schema webhook to callboard_projector, callboard_webhooks, callboard_operator;

-- The projector sees no URL, no secret and no delivery.
grant select on webhook.in_use to callboard_projector;
grant insert on webhook.notice to callboard_projector;
grant select, insert, update on webhook.floor to callboard_projector;

grant select on all tables in schema webhook to callboard_webhooks;
grant insert, update, delete on webhook.fanout, webhook.test to callboard_webhooks;
grant insert, update on webhook.delivery, webhook.waiting to callboard_webhooks;
grant update (state, reason, stopped_at, succeeded_at, failed_at, failing_since, failures, probe_at, slots, leased_by, leased_until)
  on webhook.endpoint to callboard_webhooks;
grant delete on webhook.endpoint, webhook.audit to callboard_webhooks; -- of removed endpoints whose history is gone
grant insert on webhook.audit to callboard_webhooks;

grant select on webhook.endpoint, webhook.in_use, webhook.notice, webhook.floor, webhook.fanout, webhook.delivery, webhook.waiting,
  webhook.finished, webhook.test, webhook.audit, webhook.day to callboard_operator; -- a backup has the sealed secrets
grant insert, update on webhook.endpoint, webhook.floor to callboard_operator;
grant insert on webhook.audit to callboard_operator;
grant insert, update, delete on webhook.delivery, webhook.waiting, webhook.test to callboard_operator;
grant usage on sequence webhook.delivery_id_seq to callboard_webhooks, callboard_operator;
