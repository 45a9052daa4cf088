-- The four roles. They can log in once the operator gives them a password or a certificate.
do $$
declare
  role text;
begin
  foreach role in array array['callboard_projector', 'callboard_reader', 'callboard_operator', 'callboard_webhooks'] loop
    begin
      execute format('create role %I login nosuperuser nocreatedb nocreaterole', role);
    exception when duplicate_object or unique_violation then
      null; -- roles belong to the server, and another database of it may be migrating now
    end;
  end loop;
end
$$;

-- The reader never writes, and no statement of it takes long. Its grants enforce this: a session could undo a read-only default. Temporary
-- tables and large objects are open to everyone until that is revoked. A user who migrates without the rights for these steps leaves them
-- undone, and a revoke doesn't even fail then. So each step is checked, and a missing one is a warning.
do $$
declare
  step   text[]; -- the step, and a condition that is true if it is undone
  undone boolean;
begin
  foreach step slice 1 in array array[
    array[
      format('alter role callboard_reader in database %I set statement_timeout = ''10s''', current_database()),
      $undone$not exists (
        select from pg_db_role_setting
        join pg_database on pg_database.oid = setdatabase
        where datname = current_database()
          and setrole = 'callboard_reader'::regrole
          and 'statement_timeout=10s' = any (setconfig)
      )$undone$
    ],
    array[
      format('revoke temporary on database %I from public', current_database()),
      $undone$has_database_privilege('callboard_reader', current_database(), 'temporary')$undone$
    ],
    array[
      'revoke execute on function lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) from public',
      $undone$exists (
        select from unnest(array['lo_create(oid)', 'lo_creat(integer)', 'lo_from_bytea(oid, bytea)']) making
        where has_function_privilege('callboard_reader', making, 'execute')
      )$undone$
    ]
  ] loop
    begin
      execute step[1];
    exception when insufficient_privilege then
      null;
    end;
    execute 'select ' || step[2] into undone;
    if undone then
      raise warning 'callboard_reader may do more than it should until a superuser runs, in database %: %', current_database(), step[1];
    end if;
  end loop;
end
$$;

create schema if not exists access;
create schema if not exists control;

grant usage on schema access to callboard_reader, callboard_operator;
grant usage on schema control to callboard_projector, callboard_operator;

-- PostgreSQL 14 lets everyone create tables here.
revoke create on schema public from public;
