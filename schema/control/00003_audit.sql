-- +goose Up
-- One row per authenticated request. A day is a partition, so that it is removed by a drop and not by deletes.
create table access.audit (
  at         timestamptz not null,
  id         uuid        not null, -- given by the reader, so that an entry that is delivered twice is stored once
  key_id     uuid        not null,
  operation  text        not null,
  system_id  uuid, -- of the path, also where the key doesn't cover it
  status     smallint    not null,
  code       text, -- of the problem; null: answered
  address    inet, -- null: not known
  request_id text        not null,
  primary key (at, id)
) partition by range (at);

create index audit_key on access.audit (key_id, at);

-- When and from where each key was last used. A table of its own, so that a request never rewrites the row of its key.
create table access.key_use (
  key_id  uuid        primary key,
  at      timestamptz not null,
  address inet
) with (fillfactor = 50);

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

revoke execute on function access.open_audit_day(date), access.drop_audit_before(date) from public;
grant execute on function access.open_audit_day(date), access.drop_audit_before(date) to callboard_projector;

grant usage on schema access to callboard_projector;
grant insert on access.audit to callboard_projector;
grant select, insert, update on access.key_use to callboard_projector;
grant select on access.audit, access.key_use to callboard_operator;

-- +goose Down
drop function access.drop_audit_before(date), access.open_audit_day(date);
drop view access.audit_partition;
drop table access.key_use, access.audit;
revoke usage on schema access from callboard_projector;
