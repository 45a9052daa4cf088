package access

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// AuditEntry is one request of a key, answered or denied.
type AuditEntry struct {
	ID        uuid.UUID     `json:"id"`
	At        time.Time     `json:"at"`
	Operation string        `json:"operation"`
	System    uuid.NullUUID `json:"phoneSystemId"` // the path's, whether the key covers it or not
	Status    int           `json:"status"`
	Code      *string       `json:"code"`    // of the problem document; nil: answered
	Address   *netip.Addr   `json:"address"` // nil: not known
	RequestID string        `json:"requestId"`
}

//go:embed audit_key.sql
var auditKeySQL string

// Audit is what a key asked for since then, newest first: so many of its requests at most, and whether there are more. An id that
// no key has asked for nothing.
func (g *Registry) Audit(ctx context.Context, id uuid.UUID, since time.Time, limit int) (entries []AuditEntry, more bool, err error) {
	rows, err := g.pool.Query(ctx, auditKeySQL, id, since, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("audit key: %w", err)
	}
	entries, err = pgx.CollectRows(rows, scanAuditEntry)
	if err != nil {
		return nil, false, fmt.Errorf("audit key: %w", err)
	}
	if more = len(entries) > limit; more {
		entries = entries[:limit]
	}
	return entries, more, nil
}

func scanAuditEntry(row pgx.CollectableRow) (AuditEntry, error) {
	var e AuditEntry
	err := row.Scan(&e.ID, &e.At, &e.Operation, &e.System, &e.Status, &e.Code, &e.Address, &e.RequestID)
	return e, err
}
