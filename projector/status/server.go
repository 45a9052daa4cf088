package status

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
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

// streamProblem returns what is wrong with a stream beside the stream of events, or an empty text. It returns no error:
// the report must not depend on it. code is the problem of a missing stream, and consequence what follows.
func streamProblem(ctx context.Context, js jetstream.JetStream, stream, code, consequence string) string {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	_, err := js.Stream(ctx, stream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Sprintf("%s: stream %s is missing, so %s: run 'callboard stream create'", code, stream, consequence)
	case err != nil:
		return fmt.Sprintf("stream %s can't be read: %s", stream, err)
	}
	return ""
}
