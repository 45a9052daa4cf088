-- +goose Up
-- The timeline of PostgreSQL at which a projector last began to own partitions. Another one means a failover or a restore of the server: the
-- last transactions may be lost.
create table control.timeline (
  one      boolean     primary key default true check (one),
  timeline bigint      not null,
  seen_at  timestamptz not null default now() -- for the first time
);

-- Makes the commit of this transaction wait until it is on the disk of this server and, where there are synchronous standbys, of one of
-- them, whatever the session's defaults are. remote_apply stays as it is: it waits for more.
create function control.commit_durably() returns void
language sql
set search_path = pg_catalog, pg_temp as $$
  select set_config('synchronous_commit', 'on', true)
  where current_setting('synchronous_commit') in ('off', 'local', 'remote_write')
$$;

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

revoke execute on function access.withdraw(uuid, timestamptz, timestamptz), control.commit_durably() from public;
grant execute on function access.withdraw(uuid, timestamptz, timestamptz) to callboard_projector, callboard_operator;
grant execute on function control.commit_durably() to callboard_projector, callboard_operator;
grant select, insert, update on control.timeline to callboard_projector;
grant select on control.timeline to callboard_operator;

-- +goose Down
drop function access.withdraw(uuid, timestamptz, timestamptz);
drop function control.commit_durably();
drop table control.timeline;
