package status

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

//go:embed server.sql
var serverSQL string

// Server is the state of the PostgreSQL server.
type Server struct {
	Timeline                *int64 `json:"timeline"`                // another one: there was a failover. Null in recovery
	SynchronousStandbyNames string `json:"synchronousStandbyNames"` // the setting; empty: commits wait for no standby
}

func (s *Server) read(ctx context.Context, pool *pgxpool.Pool) error {
	if err := pool.QueryRow(ctx, serverSQL).Scan(&s.Timeline, &s.SynchronousStandbyNames); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// KeysJournalMissing is the problem of a JetStream without the stream of key revocations and expiries.
const KeysJournalMissing = "KEYS_JOURNAL_MISSING"

// AuditLogMissing is the problem of a JetStream without the stream of audit entries.
const AuditLogMissing = "AUDIT_LOG_MISSING"

// lookupTimeout is short: NATS does not answer where the user may not ask.
const lookupTimeout = 2 * time.Second

// journalProblem returns what is wrong with the stream of key revocations and expiries, or an empty text. It returns
// no error: the report must not depend on it.
func journalProblem(ctx context.Context, js jetstream.JetStream) string {
	err := lookUp(ctx, js, events.KeyStream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return KeysJournalMissing + ": stream " + events.KeyStream + " is missing, so revoked keys " +
			"can work again after a failover of PostgreSQL, and 'callboard keys revoke' fails after it has revoked the key: run 'callboard stream create'"
	case err != nil:
		return fmt.Sprintf("stream %s can't be read, so revoked keys can work again after a failover of PostgreSQL: %s", events.KeyStream, err)
	}
	return ""
}

// auditProblem returns what is wrong with the stream of audit entries, or an empty text.
func auditProblem(ctx context.Context, js jetstream.JetStream) string {
	err := lookUp(ctx, js, events.AuditStream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return AuditLogMissing + ": stream " + events.AuditStream + " is missing, so readers will soon refuse all requests: run 'callboard stream create'"
	case err != nil:
		return fmt.Sprintf("stream %s of the audit entries can't be read: %s", events.AuditStream, err)
	}
	return ""
}

func lookUp(ctx context.Context, js jetstream.JetStream, stream string) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	_, err := js.Stream(ctx, stream)
	return err
}
