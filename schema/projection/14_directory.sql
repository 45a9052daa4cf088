-- How many events have changed what other resources show of a phone system's directory: names, numbers, labels and scores. Equal versions
-- mean equal directories, so a row is never deleted, not with its phone system either. All zeros: the global classifications.
create table directory (
  system_id uuid   primary key,
  version   bigint not null
) with (fillfactor = 50);
