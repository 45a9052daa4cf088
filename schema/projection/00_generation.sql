-- The number of the fold rules: 7. A change of what the fold decides raises it, and needs a rebuild, like any change to these files.
--
-- A row that belongs to a phone system has the partition of its events, and every statement about such rows names it: one partition's rows
-- can be stored apart from the others'. It is the last column of a primary key, and of an index that counts rows without reading them: the
-- phone system narrows a scan down as far. Tables without a partition are small, and rows of every partition need them: generation, groups
-- and their members, classifications.
--
-- Texts in primary keys have the collation "C": they are compared by their bytes.

-- What this schema was built from. One row.
create table generation (
  id         bigint   not null, -- of control.generation
  definition bytea    not null, -- SHA-256 of these files
  partitions smallint, -- of the stream; null until a projector claims the first one
  directory  bigint   not null default 0, -- as of a phone system: of the global classifications, which the pages of every partition show
  primary key (id) include (partitions, directory) -- readers, whose plans use indexes, read all three
);
