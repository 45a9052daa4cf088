package status

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/audit"
	"callboard/events/journal"
)

//go:embed server.sql
var serverSQL string

const timelineSQL = "select timeline, seen_at from control.timeline"

// Server is the state of the PostgreSQL server.
type Server struct {
	InRecovery bool   `json:"inRecovery"`
	Timeline   *int64 `json:"timeline"` // null in recovery

	// SynchronousStandbyNames is the setting; empty: commits wait for no standby.
	SynchronousStandbyNames string `json:"synchronousStandbyNames"`
	// SynchronousStandbys are the connected standbys for which commits wait. Null: this role may not see them.
	SynchronousStandbys []string `json:"synchronousStandbys"`

	// The timeline at which a projector last began to own partitions, and since when; null: none did.
	ProjectorTimeline      *int64     `json:"projectorTimeline"`
	ProjectorTimelineSince *time.Time `json:"projectorTimelineSince"`
}

func (s *Server) read(ctx context.Context, pool *pgxpool.Pool, migrated bool) error {
	var visible bool
	row := pool.QueryRow(ctx, serverSQL)
	if err := row.Scan(&s.InRecovery, &s.Timeline, &s.SynchronousStandbyNames, &visible, &s.SynchronousStandbys); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if !visible {
		s.SynchronousStandbys = nil
	}
	if !migrated {
		return nil
	}
	err := pool.QueryRow(ctx, timelineSQL).Scan(&s.ProjectorTimeline, &s.ProjectorTimelineSince)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("timeline: %w", err)
	}
	return nil
}

// KeysJournalMissing is the problem of a JetStream without the stream of key revocations and expiries.
const KeysJournalMissing = "KEYS_JOURNAL_MISSING"

// AuditLogMissing is the problem of a JetStream without the stream of audit entries.
const AuditLogMissing = "AUDIT_LOG_MISSING"

// lookupTimeout is short: NATS does not answer where the user may not ask.
const lookupTimeout = 2 * time.Second

// journalProblem returns what is wrong with the stream of key revocations and expiries, or an empty text. It returns no error: the
// report must not depend on it.
func journalProblem(ctx context.Context, js jetstream.JetStream) string {
	err := lookUp(ctx, js, journal.StreamName)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return KeysJournalMissing + ": stream " + journal.StreamName + " is missing, so revoked keys " +
			"can work again after a failover of PostgreSQL, and 'callboard keys revoke' fails after it has revoked the key: run 'callboard stream create'"
	case err != nil:
		return fmt.Sprintf("stream %s can't be read, so revoked keys can work again after a failover of PostgreSQL: %s", journal.StreamName, err)
	}
	return ""
}

// auditProblem returns what is wrong with the stream of audit entries, or an empty text.
func auditProblem(ctx context.Context, js jetstream.JetStream) string {
	err := lookUp(ctx, js, audit.StreamName)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return AuditLogMissing + ": stream " + audit.StreamName + " is missing, so readers will soon refuse all requests: run 'callboard stream create'"
	case err != nil:
		return fmt.Sprintf("stream %s of the audit entries can't be read: %s", audit.StreamName, err)
	}
	return ""
}

func lookUp(ctx context.Context, js jetstream.JetStream, stream string) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	_, err := js.Stream(ctx, stream)
	return err
}
