-- The timeline of a server in recovery is not known. Who may not read the statistics of other sessions sees no names of standbys.
select
  pg_is_in_recovery() as in_recovery,
  case
    when not pg_is_in_recovery() then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint
  end as timeline,
  current_setting('synchronous_standby_names') as configured,
  pg_has_role('pg_read_all_stats', 'usage') as names_visible,
  array(
    select application_name
    from pg_stat_replication
    where sync_state in ('sync', 'quorum')
    order by 1
  ) as standbys
