-- How many events have changed what other resources show of a phone system's directory: names, numbers, labels and scores. Equal versions
-- mean equal directories, so a row is never deleted, not with its phone system either.
create table directory (
  partition smallint not null,
  system_id uuid     not null,
  version   bigint   not null,
  primary key (system_id, partition)
) with (fillfactor = 50);

-- The same of the global classifications, which the pages of every partition show. One row.
create table global_directory (
  system_id uuid   primary key, -- all zeros
  version   bigint not null
) with (fillfactor = 50);
