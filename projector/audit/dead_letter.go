package audit

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"

	"github.com/nats-io/nats.go"
)

//go:embed dead_letter.sql
var deadLetterSQL string

// setAside keeps a message whole as a dead letter. Its partition is 0: the stream is all one.
func (s *session) setAside(ctx context.Context, d delivery) error {
	if _, err := s.config.Database.Exec(ctx, deadLetterSQL, d.meta.Stream, s.created, int64(d.meta.Sequence.Stream),
		d.Subject(), wire(d.Headers()), d.Data(), d.reason, d.meta.Timestamp); err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	s.metrics.deadLetters.Inc()
	s.config.Log.Error().Uint64("sequence", d.meta.Sequence.Stream).Str("reason", d.reason).Msg("audit dead letter")
	return nil
}

// wire is a header as it travels in the NATS protocol.
func wire(h nats.Header) []byte {
	var b bytes.Buffer
	b.WriteString("NATS/1.0\r\n")
	for key, values := range h {
		for _, value := range values {
			b.WriteString(key + ": " + value + "\r\n")
		}
	}
	b.WriteString("\r\n")
	return b.Bytes()
}
