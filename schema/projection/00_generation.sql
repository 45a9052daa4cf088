-- The number of the fold rules: 1. A change of what the fold decides raises it, and needs a rebuild, like any change to these files.

-- What this schema was built from. One row.
create table generation (
  id         bigint primary key, -- of control.generation
  definition bytea  not null -- SHA-256 of these files
);
