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

create schema if not exists access;
create schema if not exists control;

grant usage on schema access to callboard_reader, callboard_operator;
grant usage on schema control to callboard_projector, callboard_operator;

-- PostgreSQL 14 lets everyone create tables here.
revoke create on schema public from public;
