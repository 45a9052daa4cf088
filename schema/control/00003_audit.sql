-- +goose Up
-- One row per authenticated request. A day is a partition, so that forgetting one is a drop and not a delete.
create table access.audit (
  at         timestamptz not null,
  id         uuid        not null, -- given by the reader, so that what is delivered twice is filed once
  key_id     uuid        not null,
  operation  text        not null,
  system_id  uuid, -- the path's, whether the key covers it or not
  status     smallint    not null,
  code       text, -- of the problem; null: answered
  address    inet, -- null: not known
  request_id text        not null,
  primary key (at, id)
) partition by range (at);

create index audit_key on access.audit (key_id, at);

-- When and from where each key was last used. Beside the keys, so that no use of a key rewrites the row that decides about it.
create table access.key_use (
  key_id  uuid        primary key,
  at      timestamptz not null,
  address inet
) with (fillfactor = 50);

-- Makes room for a day's entries; the day is one of UTC. A partition is attached rather than created in place, which would lock
-- out whoever reads the audit.
-- +goose StatementBegin
create function access.open_audit_day(day date) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  name constant text := 'audit_' || to_char(day, 'YYYYMMDD');
begin
  perform pg_advisory_xact_lock(hashtextextended('access.audit', 0));
  if to_regclass('access.' || name) is null then
    execute format('create table access.%I (like access.audit including all)', name);
    execute format('alter table access.audit attach partition access.%I for values from (%L) to (%L)',
      name, day::timestamptz, (day + 1)::timestamptz);
  end if;
end
$$;
-- +goose StatementEnd

-- Forgets the days before one, and returns how many. Two callers take turns, so that the second finds nothing left.
-- +goose StatementBegin
create function access.drop_audit_before(first date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  old regclass;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('access.audit', 0));
  for old in
    select inhrelid::regclass
    from pg_inherits
    join pg_class on pg_class.oid = inhrelid
    where inhparent = 'access.audit'::regclass
      and relname < 'audit_' || to_char(first, 'YYYYMMDD')
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
drop table access.key_use, access.audit;
revoke usage on schema access from callboard_projector;
