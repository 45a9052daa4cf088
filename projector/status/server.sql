-- The timeline of a server in recovery is not known.
select
  case
    when not pg_is_in_recovery() then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint
  end as timeline,
  current_setting('synchronous_standby_names') as standbys
