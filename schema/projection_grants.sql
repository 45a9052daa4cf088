grant usage on schema projection to callboard_projector, callboard_reader, callboard_operator;
grant select, insert, update, delete on all tables in schema projection to callboard_projector;
grant select on all tables in schema projection to callboard_reader, callboard_operator;
