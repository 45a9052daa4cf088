-- How many rows of a list fall on a day (UTC), exact at every commit: a list's total and the place of a page.
create table day_count (
  system_id uuid    not null,
  list      text    not null, -- call_log
  subset    uuid    not null, -- all zeros: every row; else the rows that a key narrowed to this extension sees
  day       date    not null,
  count     integer not null,
  primary key (system_id, list, subset, day)
) with (fillfactor = 70);
