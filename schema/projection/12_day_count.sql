-- How many rows of a list were created on a day (UTC), exact at every commit. It gives a list's total, and finds a page.
create table day_count (
  partition smallint not null,
  system_id uuid     not null,
  list      text     collate "C" not null, -- the table's name, or the kind of topology
  subset    text     collate "C" not null, -- empty: every row; else those of a status, or those that a key narrowed to an extension can read
  day       date     not null,
  count     integer  not null,
  primary key (system_id, list, subset, day, partition)
) with (fillfactor = 70);
