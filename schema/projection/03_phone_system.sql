create table phone_system (
  partition       smallint not null, -- its watermark is that of this system
  id              uuid     not null,
  version         bigint   not null,
  name            text     collate "C" not null,
  organization_id uuid,
  -- How many events have changed what other resources show of the phone system's directory: names, numbers, labels and
  -- scores. Equal versions of the row and of its directory mean equal directories.
  directory       bigint   not null default 0,
  primary key (id, partition)
);

create table phone_system_group (
  id               uuid   primary key,
  version          bigint not null,
  name             text   not null,
  phone_system_ids uuid[] not null
);

-- The members of the groups, each once: what a key of a group may read is one probe.
create table phone_system_group_member (
  system_id uuid not null,
  group_id  uuid not null,
  primary key (system_id, group_id)
);
