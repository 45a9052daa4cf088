-- Extensions, phones, numbers, agents, groups and menus. Nested values are JSON text in the contract's shape, served byte for byte.
create table extension (
  partition          smallint    not null,
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
  primary key (system_id, id, partition)
);

create table phone (
  partition       smallint    not null,
  system_id       uuid        not null,
  id              uuid        not null,
  version         bigint      not null,
  name            text        not null,
  status          text        not null,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  extension_id    uuid,
  device_role     text,
  parent_phone_id uuid,
  slot            integer,
  mac_address     text,
  firmware        text,
  hardware        json        not null,
  primary key (system_id, id, partition)
);

create table phone_number (
  partition    smallint    not null,
  system_id    uuid        not null,
  id           uuid        not null,
  version      bigint      not null,
  phone_number text        not null, -- E.164
  label        text,
  status       text        not null,
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  origin       text        not null, -- managed, carrier_hosted
  country      text, -- ISO 3166-1 alpha-2
  is_primary   boolean     not null,
  primary key (system_id, id, partition)
);

create table agent_config (
  partition    smallint    not null,
  system_id    uuid        not null,
  id           uuid        not null,
  version      bigint      not null,
  name         text        not null,
  agent_number integer, -- 1 to 9
  status       text        not null, -- active, inactive, paused, archived, testing
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  primary key (system_id, id, partition)
);

create table call_group (
  partition          smallint    not null,
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
  primary key (system_id, id, partition)
);

create table call_menu (
  partition                smallint    not null,
  system_id                uuid        not null,
  id                       uuid        not null,
  version                  bigint      not null,
  name                     text        not null,
  status                   text        not null,
  created_at               timestamptz not null,
  updated_at               timestamptz not null,
  prompt                   json,
  choices                  json        not null,
  direct_extension_dialing boolean     not null,
  no_input_action          json,
  primary key (system_id, id, partition)
);
