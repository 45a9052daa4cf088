-- Fills the tables that the projector derives from the rows: the calls and analyses of each extension, and the counts per day.
truncate projection.extension_entry;

delete from projection.row_count where list not like 'reference/%';

insert into projection.extension_entry (partition, system_id, extension_id, analysis, created_at, id)
select partition, system_id, answered_by_extension_id, false, created_at, id
from projection.call_log where answered_by_extension_id is not null
union
select partition, system_id, from_extension_id, false, created_at, id
from projection.call_log where from_extension_id is not null;

insert into projection.extension_entry (partition, system_id, extension_id, analysis, created_at, id)
select a.partition, a.system_id, e.extension_id, true, a.created_at, a.id
from projection.analysis a
join projection.extension_entry e on e.partition = a.partition and e.system_id = a.system_id and e.id = a.call_id
where a.listed;

insert into projection.row_count (partition, system_id, list, subset, day, count)
select partition, system_id, list, subset, (created_at at time zone 'UTC')::date as day, count(*)
from (
  select partition, system_id, 'call_log' as list, '' as subset, created_at from projection.call_log
  union all
  select partition, system_id, 'call_log', extension_id::text, created_at from projection.extension_entry where not analysis
  union all
  select partition, system_id, 'analysis', '', created_at from projection.analysis where listed
  union all
  select partition, system_id, 'analysis', extension_id::text, created_at from projection.extension_entry where analysis
  union all
  select partition, system_id, 'voicemail', '', created_at from projection.voicemail
  union all
  select partition, system_id, list, subset, created_at
  from (
    select partition, system_id, 'recording' as list, status, created_at
    from projection.recording where call_sid is not null and status <> 'unavailable'
    union all
    select partition, system_id, kind, status, created_at from projection.topology
  ) listed, lateral (values (''), (status)) s (subset)
) every
group by partition, system_id, list, subset, day;
