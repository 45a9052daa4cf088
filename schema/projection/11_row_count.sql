-- How many rows of a list were created on a day (UTC), and how many calls refer to an entity or a code, exact at every commit. The days of
-- a list give its total and find a page; references are the members of the report dimensions. No count is 0.
create table row_count (
  partition smallint not null,
  system_id uuid     not null,
  -- The table's name, or the kind of topology. Of references 'reference/', then call_group, extension, representative or a classification's kind.
  list      text     collate "C" not null,
  -- Empty: every row; else the rows of a status, or the rows that a key narrowed to an extension can read. Of references, an id or a code.
  subset    text     collate "C" not null,
  day       date     not null, -- of references 1970-01-01: they have none
  count     integer  not null,
  primary key (system_id, list, subset, day, partition)
) with (fillfactor = 70);
