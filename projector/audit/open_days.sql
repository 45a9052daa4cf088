select access.open_audit_day(day)
from unnest($1::date[]) as day
