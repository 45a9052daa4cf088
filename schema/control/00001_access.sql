-- +goose Up
create table access.key (
  id               uuid        primary key,
  lineage          uuid        not null, -- shared by a key and the keys that replaced it
  name             text        not null,
  short            text        not null unique, -- the public part of the key
  hash             bytea       not null, -- HMAC-SHA-256 of the whole key under the pepper
  pepper_id        text        not null, -- of the pepper
  grant_kind       text        not null check (grant_kind in ('system', 'group', 'organization')),
  grant_id         uuid        not null,
  scopes           text[]      not null,
  own_extension_id uuid, -- narrows calls:read to the calls of this extension
  allowed_networks cidr[]      not null default '{}', -- empty: any address
  tier             text        not null default 'standard' check (tier in ('standard', 'premium')),
  created_at       timestamptz not null default now(),
  expires_at       timestamptz,
  revoked_at       timestamptz
);

create index key_lineage on access.key (lineage);

-- When and from where each key was last used. A table of its own, so that a request never rewrites the row of its key.
create table access.key_use (
  key_id  uuid        primary key,
  at      timestamptz not null,
  address inet
) with (fillfactor = 50);

-- Ends a key at the earlier of the times that the database has and those that are given, and returns whether that changes anything. It never
-- makes a key live longer. A null, or an unknown key, changes nothing.
create function access.withdraw(id uuid, revoked_at timestamptz, expires_at timestamptz) returns boolean
language sql security definer
set search_path = pg_catalog, pg_temp as $$
  with changed as (
    update access.key k
    set revoked_at = least(k.revoked_at, withdraw.revoked_at),
        expires_at = least(k.expires_at, withdraw.expires_at)
    where k.id = withdraw.id
      and (least(k.revoked_at, withdraw.revoked_at), least(k.expires_at, withdraw.expires_at))
        is distinct from (k.revoked_at, k.expires_at)
    returning k.id
  )
  select exists (select from changed)
$$;

-- One row is one authenticated request, or several of a key that were refused with the same status and code. A day is a partition, so that it is
-- removed by a drop and not by deletes.
create table access.audit (
  at              timestamptz not null, -- of several requests: of the first one
  id              uuid        not null, -- given by the reader, so that an entry that is delivered twice is stored once
  key_id          uuid        not null,
  operation       text        not null,
  system_id       uuid, -- of the path, also where the key doesn't cover it
  status          smallint    not null,
  code            text, -- of the problem; null: answered
  address         inet, -- of the last request; null: not known
  request_id      text        not null, -- of the first request
  count           bigint      not null default 1,
  last_at         timestamptz, -- of several requests: when the last one arrived
  last_request_id text, -- of several requests: of the last one
  addresses       integer     not null default 1, -- different ones
  primary key (at, id)
) partition by range (at);

create index audit_key on access.audit (key_id, at);

-- The audit's partitions and their bounds. Detached tables are not among them.
create view access.audit_partition as
  select
    c.oid::regclass as partition,
    c.relname       as name,
    coalesce(substring(bound from 'FROM \(''([^'']+)''\)')::timestamptz, '-infinity') as first,
    coalesce(substring(bound from 'TO \(''([^'']+)''\)')::timestamptz, 'infinity')    as past
  from pg_inherits
  join pg_class c on c.oid = inhrelid
  cross join lateral pg_get_expr(c.relpartbound, c.oid) bound
  where inhparent = 'access.audit'::regclass
    and not inhdetachpending;

-- Creates the partition of a day (UTC) and returns whether the day has one. It has none where an operator detached its table, or created a
-- partition for a part of the day. The partition is attached rather than created in place, which would lock out the audit's readers.
-- +goose StatementBegin
create function access.open_audit_day(day date) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO' as $$
declare
  name constant text := 'audit_' || to_char(day, 'YYYYMMDD');
begin
  perform pg_advisory_xact_lock(hashtextextended('access.audit', 0));
  if exists (select from access.audit_partition p where p.first <= day::timestamptz and p.past >= (day + 1)::timestamptz) then
    return true;
  end if;
  execute format('create table access.%I (like access.audit including all)', name);
  execute format('alter table access.audit attach partition access.%I for values from (%L) to (%L)',
    name, day::timestamptz, (day + 1)::timestamptz);
  return true;
exception when duplicate_table or invalid_object_definition then
  return false;
end
$$;
-- +goose StatementEnd

-- Drops the days before one, the oldest first, and returns how many: a hundred at most, since each takes locks until the transaction ends.
-- It drops partitions of open_audit_day only. Of two callers the second waits, and finds nothing left.
-- +goose StatementBegin
create function access.drop_audit_before(day date) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO' set lock_timeout = '2s' as $$
declare
  old regclass;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('access.audit', 0));
  for old in
    select p.partition
    from access.audit_partition p
    where p.name ~ '^audit_[0-9]{8}$'
      and p.past <= day::timestamptz
    order by p.past
    limit 100
  loop
    execute format('drop table %s', old);
    dropped := dropped + 1;
  end loop;
  return dropped;
end
$$;
-- +goose StatementEnd

revoke execute on function
  access.withdraw(uuid, timestamptz, timestamptz), access.open_audit_day(date), access.drop_audit_before(date)
from public;

grant usage on schema access to callboard_projector;
grant insert on access.audit to callboard_projector;
grant select, insert, update on access.key_use to callboard_projector;
grant execute on function
  access.withdraw(uuid, timestamptz, timestamptz), access.open_audit_day(date), access.drop_audit_before(date)
to callboard_projector;

grant select on access.key to callboard_reader;

grant select, insert, update on access.key to callboard_operator;
grant select on access.audit, access.key_use to callboard_operator;
grant execute on function access.withdraw(uuid, timestamptz, timestamptz) to callboard_operator;
