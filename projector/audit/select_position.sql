select sequence, stored_at
from control.audit_position
