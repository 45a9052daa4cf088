-- The three roles. They can log in once the operator gives them a password or a certificate; they get no right but those granted to them.
do $$
declare
  role text;
begin
  foreach role in array array['callboard_projector', 'callboard_reader', 'callboard_operator'] loop
    begin
      execute format('create role %I login nosuperuser nocreatedb nocreaterole', role);
    exception when duplicate_object or unique_violation then
      null; -- roles belong to the server, and another database of it may be migrating now
    end;
  end loop;
end
$$;

-- The reader has nothing to write, and no statement of its own takes long. Its sessions are not made read-only, which any session
-- can undo: its grants decide. Temporary tables and large objects are open to everyone unless that is revoked. Who migrates
-- without the rights to do this leaves it undone.
do $$
declare
  statement text;
begin
  foreach statement in array array[
    format('alter role callboard_reader in database %I set statement_timeout = ''10s''', current_database()),
    format('revoke temporary on database %I from public', current_database()),
    'revoke execute on function lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) from public'
  ] loop
    begin
      execute statement;
    exception when insufficient_privilege then
      raise notice 'not done, for want of rights: %', statement;
    end;
  end loop;
end
$$;

create schema if not exists access;
create schema if not exists control;

grant usage on schema access to callboard_reader, callboard_operator;
grant usage on schema control to callboard_projector, callboard_operator;

-- PostgreSQL 14 lets everyone create tables here.
revoke create on schema public from public;
