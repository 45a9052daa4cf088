#!/bin/bash
# Makes PostgreSQL servers a Citus cluster. It may run again: it changes only what is missing, and passwords that are others now.
# Passwords are read from the folder /secrets. They are in no command line, environment, statement or log.
# usage: nodes.sh COORDINATOR WORKER...
set -euo pipefail
umask 077
export PGUSER=callboard_owner PGDATABASE=callboard PGSSLMODE=disable PGCONNECT_TIMEOUT=10 PGPASSFILE=/tmp/pgpass
# With an error, neither psql nor the server writes the row that it is about.
export PGOPTIONS='-c client_min_messages=warning -c log_error_verbosity=terse'

# run SERVER executes the statements of the standard input.
run() {
  psql --no-psqlrc --no-password --quiet --tuples-only --set=ON_ERROR_STOP=1 --set=VERBOSITY=terse --host="$1" --output=/dev/null
}

# authenticate SERVER ROLE...: as these roles, the server can connect to the others. It does so in sessions of these roles.
authenticate() {
  local server=$1 role
  shift
  {
    cat <<'SQL'
create temporary table credential (role name, password text);
copy credential from stdin with (format csv, delimiter E'\t', quote E'\b');
SQL
    for role in "$@"; do
      printf 'callboard_%s\t%s\n' "$role" "$(<"/secrets/postgres-$role-password")"
    done
    cat <<'SQL'
\.
insert into pg_dist_authinfo (nodeid, rolename, authinfo)
select 0, role, format('password=''%s''', replace(replace(password, '\', '\\'), '''', '\'''))
from credential
on conflict (rolename, nodeid) do update
set authinfo = excluded.authinfo
where pg_dist_authinfo.authinfo <> excluded.authinfo;
SQL
  } | run "$server"
}

printf '*:*:*:%s:%s\n' "$PGUSER" "$(sed 's/[\\:]/\\&/g' /secrets/postgres-owner-password)" >"$PGPASSFILE"
coordinator=$1
shift
workers=("$@")

for server in "$coordinator" "${workers[@]}"; do
  run "$server" <<<'create extension if not exists citus;'
  authenticate "$server" owner
done

run "$coordinator" <<SQL
select citus_set_coordinator_host('$coordinator', 5432)
where not exists (select from pg_dist_node where groupid = 0 and nodename = '$coordinator' and nodeport = 5432);
SQL
for worker in "${workers[@]}"; do
  run "$coordinator" <<SQL
select citus_add_node('$worker', 5432)
where not exists (select from pg_dist_node where nodename = '$worker' and nodeport = 5432);
SQL
done

# The table with the passwords takes only roles that exist. 'callboard migrate' gives them rights and passwords. Citus creates them on
# the workers too.
run "$coordinator" <<'SQL'
select format('create role %I login nosuperuser nocreatedb nocreaterole', role)
from unnest(array['callboard_projector', 'callboard_reader', 'callboard_operator', 'callboard_webhooks']) role
where not exists (select from pg_roles where rolname = role)
\gexec
SQL
for server in "$coordinator" "${workers[@]}"; do
  authenticate "$server" projector reader operator webhooks
done
echo "The coordinator $coordinator has the workers ${workers[*]}."
