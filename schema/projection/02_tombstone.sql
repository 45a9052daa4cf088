-- The version at which an entity ended, and what a facet hung on: a late older event must bring nothing back.
create table tombstone (
  system_id uuid   not null, -- all zeros for what belongs to no single phone system
  entity    text   not null,
  key       text   not null,
  version   bigint not null,
  owner     text   not null, -- call, voicemail, or empty
  owner_id  uuid   not null,
  primary key (system_id, entity, key)
);

create index tombstone_owner on tombstone (system_id, owner_id) where owner <> '';
