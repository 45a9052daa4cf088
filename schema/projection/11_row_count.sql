-- How many rows of a list were created on a day (UTC), and how many calls refer to an entity or a code, exact at every commit. The rows of a
-- list give its total and find a page. References are the members of the report dimensions. No count is 0.
create table row_count (
  partition smallint not null,
  system_id uuid     not null,
  list      text     collate "C" not null, -- the table's name, or the kind of topology; 'reference/' and call_group, extension, representative or a classification's kind
  subset    text     collate "C" not null, -- empty: every row; else those of a status, or those that a key narrowed to an extension can read; of references, an id or a code
  day       date     not null, -- of references, which have none, 1970-01-01
  count     integer  not null,
  primary key (system_id, list, subset, day, partition)
) with (fillfactor = 70);
