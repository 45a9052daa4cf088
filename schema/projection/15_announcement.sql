-- When an extension, a call group or a representative last became live, for the first time or again, while calls referred to it: these calls
-- show its id from then on, so their updated_at is that time or later. A row stays when the entry is deleted.
create table announcement (
  partition smallint    not null,
  system_id uuid        not null,
  family    text        collate "C" not null, -- call_group, extension, representative
  id        uuid        not null,
  at        timestamptz not null, -- the partition clock
  primary key (system_id, family, id, partition)
);
