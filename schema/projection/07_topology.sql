-- What calls are answered by and routed to. Nested values are json text in the contract's shape, served byte for byte.
create table extension (
  system_id          uuid        not null,
  id                 uuid        not null,
  version            bigint      not null,
  number             text        not null,
  name               text        not null,
  status             text        not null,
  created_at         timestamptz not null,
  updated_at         timestamptz not null,
  assigned_phones    json        not null,
  unanswered_action  json,
  voicemail_greeting json,
  primary key (system_id, id)
);

create index extension_created on extension (system_id, created_at, id);

create table call_group (
  system_id          uuid        not null,
  id                 uuid        not null,
  version            bigint      not null,
  name               text        not null,
  number             text        not null,
  status             text        not null,
  created_at         timestamptz not null,
  updated_at         timestamptz not null,
  members            json        not null,
  ring_pattern       text        not null,
  unanswered_action  json,
  voicemail_greeting json,
  primary key (system_id, id)
);

create index call_group_created on call_group (system_id, created_at, id);
