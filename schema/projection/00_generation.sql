-- How rows are folded from events, by number: 1. A change to what the fold decides raises it, and the projection is built anew,
-- as after any other change to these files.

-- What this schema was built as. One row.
create table generation (
  id         bigint primary key, -- of control.generation
  definition bytea  not null -- SHA-256 of these files
);
