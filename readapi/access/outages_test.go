package access

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// While a partition's node does not answer, one request a second waits for it. Another partition is read as usual.
func TestOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outages
		silent := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		answering := func(context.Context) error { return nil }
		began := time.Now()
		if err := o.read(t.Context(), 1, silent); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != nodeTimeout {
			t.Errorf("first request = %v after %s, want a timeout after %s", err, time.Since(began), nodeTimeout)
		}
		if err := o.read(t.Context(), 1, answering); !errors.Is(err, ErrNodeDown) {
			t.Errorf("next request = %v, want ErrNodeDown", err)
		}
		if err := o.read(t.Context(), 2, answering); err != nil {
			t.Errorf("another partition = %v, want nil", err)
		}
		time.Sleep(outagePause)
		probed := make(chan error)
		go func() { probed <- o.read(t.Context(), 1, silent) }()
		synctest.Wait()
		if err := o.read(t.Context(), 1, answering); !errors.Is(err, ErrNodeDown) {
			t.Errorf("a request during a probe = %v, want ErrNodeDown", err)
		}
		if err := <-probed; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("probe = %v, want a timeout", err)
		}
		time.Sleep(outagePause)
		for range 2 {
			if err := o.read(t.Context(), 1, answering); err != nil {
				t.Errorf("the node is back: %v, want nil", err)
			}
		}
	})
}

// What says nothing about the node begins no outage: a client that leaves, a row that is missing, a table that a
// switch has renamed.
func TestOutages_OtherErrors(t *testing.T) {
	errSwitch := &pgconn.PgError{Code: pgerrcode.UndefinedTable}
	var o outages
	left, leave := context.WithCancel(t.Context())
	leave()
	for want, ctx := range map[error]context.Context{context.Canceled: left, pgx.ErrNoRows: t.Context(), errSwitch: t.Context()} {
		if err := o.read(ctx, 1, func(context.Context) error { return want }); !errors.Is(err, want) {
			t.Errorf("error = %v, want %v", err, want)
		}
	}
	if err := o.read(t.Context(), 1, func(context.Context) error { return nil }); err != nil {
		t.Errorf("afterwards: %v, want nil", err)
	}
}
