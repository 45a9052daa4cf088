-- The version at which an entity was deleted, and the owner row of a facet: an older event that arrives late must not restore the entity.
create table tombstone (
  partition smallint not null,
  system_id uuid     not null, -- all zeros: the entity belongs to no single phone system
  entity    text     collate "C" not null,
  key       text     collate "C" not null,
  version   bigint   not null,
  owner     text     not null, -- of a facet: call or voicemail; else empty
  owner_id  uuid     not null,
  primary key (system_id, entity, key, partition)
);

create index tombstone_owner on tombstone (system_id, owner_id) where owner <> '';
