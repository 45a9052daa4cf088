grant usage on schema %[1]s to callboard_projector, callboard_reader, callboard_operator, callboard_webhooks;
grant select, insert, update, delete on all tables in schema %[1]s to callboard_projector;
grant select on all tables in schema %[1]s to callboard_reader, callboard_operator;
revoke insert, update, delete on %[1]s.generation from callboard_projector;
grant update%[2]s on %[1]s.generation to callboard_projector;
grant select on %[1]s.phone_system, %[1]s.phone_system_group, %[1]s.phone_system_group_member, %[1]s.position, %[1]s.generation to callboard_webhooks;
