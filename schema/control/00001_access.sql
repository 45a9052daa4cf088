-- +goose Up
create table access.key (
  id               uuid        primary key,
  lineage          uuid        not null, -- shared by a key and the keys that replaced it
  name             text        not null,
  short            text        not null unique, -- the public part of the key
  hash             bytea       not null, -- HMAC-SHA-256 of the whole key under the pepper
  pepper_id        text        not null, -- of the pepper
  grant_kind       text        not null check (grant_kind in ('system', 'group', 'organization')),
  grant_id         uuid        not null,
  scopes           text[]      not null,
  own_extension_id uuid, -- narrows calls:read to the calls of this extension
  allowed_networks cidr[]      not null default '{}', -- empty: any address
  tier             text        not null default 'standard' check (tier in ('standard', 'premium')),
  created_at       timestamptz not null default now(),
  expires_at       timestamptz,
  revoked_at       timestamptz
);

create index key_lineage on access.key (lineage);

grant select on access.key to callboard_reader;
grant select, insert, update on access.key to callboard_operator;

-- +goose Down
drop table access.key;
