-- How many rows of a list fall on a day (UTC), exact at every commit: a list's total and the place of a page.
create table day_count (
  system_id uuid    not null,
  list      text    not null, -- the table's name
  subset    text    not null, -- empty: every row; else those of this status, or those that a key narrowed to this extension sees
  day       date    not null,
  count     integer not null,
  primary key (system_id, list, subset, day)
) with (fillfactor = 70);
