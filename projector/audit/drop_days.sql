select access.drop_audit_before($1)
