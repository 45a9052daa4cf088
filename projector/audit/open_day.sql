select access.open_audit_day($1)
