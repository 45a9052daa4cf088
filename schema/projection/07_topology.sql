-- Extensions, phones, phone numbers, agent configs, call groups and call menus. The JSON is served byte for byte. The other columns are what
-- operations filter and sort by, and what reports and dimensions show.
create table topology (
  partition    smallint    not null,
  system_id    uuid        not null,
  kind         text        collate "C" not null, -- extension, phone, phone-number, agent-config, call-group, call-menu
  id           uuid        not null,
  version      bigint      not null,
  status       text        not null,
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  name         text        not null, -- of a phone number, its label
  number       text, -- of an extension, a phone number, an agent config or a call group
  extension_id uuid, -- of a phone
  row          json        not null, -- in a list
  detail       json        not null,
  primary key (system_id, id, kind, partition)
);
