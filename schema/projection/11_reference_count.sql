-- How many calls refer to an entity or a code, exact at every commit: the members of the report dimensions.
create table reference_count (
  partition smallint not null,
  system_id uuid     not null,
  family    text     collate "C" not null, -- call_group, extension, representative, or a classification's kind
  key       text     collate "C" not null, -- an id, or a code
  count     integer  not null,
  primary key (system_id, family, key, partition)
) with (fillfactor = 70);
