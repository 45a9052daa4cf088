package schematest

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// OpenPool returns a pool of connections to a URL, whose configuration is changed before. It is closed when the test
// ends.
func OpenPool(tb testing.TB, url string, changes ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		tb.Fatalf("pool: %v", err)
	}
	return openPool(tb, config, changes)
}

// OpenPoolLike returns a pool with the configuration of another one, which is changed before. It is closed when the
// test ends.
func OpenPoolLike(tb testing.TB, other *pgxpool.Pool, changes ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	return openPool(tb, other.Config(), changes)
}

// OpenTracedPool returns a pool with the configuration of another one, whose statements are traced. It is closed when
// the test ends.
func OpenTracedPool(tb testing.TB, other *pgxpool.Pool, tracer *Tracer) *pgxpool.Pool {
	tb.Helper()
	return OpenPoolLike(tb, other, func(c *pgxpool.Config) { c.ConnConfig.Tracer = tracer })
}

// OpenLimitedPool returns a pool with the configuration of another one. A statement without a deadline fails the test,
// unless it is about advisory locks, whose time package lock limits. The pool is closed when the test ends.
func OpenLimitedPool(tb testing.TB, other *pgxpool.Pool) *pgxpool.Pool {
	tb.Helper()
	return OpenTracedPool(tb, other, &Tracer{Unlimited: func(sql string) {
		if !strings.Contains(sql, "advisory") {
			tb.Errorf("statement without a deadline: %q", sql)
		}
	}})
}

func openPool(tb testing.TB, config *pgxpool.Config, changes []func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	for _, change := range changes {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(tb.Context()), config)
	if err != nil {
		tb.Fatalf("pool: %v", err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

// OpenAll opens as many connections as a pool may have.
func OpenAll(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	var open []*pgxpool.Conn
	for range pool.Stat().MaxConns() {
		c, err := pool.Acquire(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		open = append(open, c)
	}
	for _, c := range open {
		c.Release()
	}
}

// Tracer calls functions for what is sent to the server, by several connections at once. Each of the functions may be
// nil.
type Tracer struct {
	Statement      func(sql string, arguments []any) // before a statement that is not in a batch
	End            func()                            // after it
	Batch          func()                            // before a batch
	BatchStatement func(sql string, arguments []any) // when a statement of a batch has ended
	Unlimited      func(sql string)                  // before a statement or a batch, which has no SQL, whose context has no deadline
}

// TraceQueryStart implements [pgx.QueryTracer].
func (t *Tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t.checkDeadline(ctx, data.SQL)
	if t.Statement != nil {
		t.Statement(data.SQL, data.Args)
	}
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (t *Tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {
	if t.End != nil {
		t.End()
	}
}

// TraceBatchStart implements [pgx.BatchTracer].
func (t *Tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	t.checkDeadline(ctx, "")
	if t.Batch != nil {
		t.Batch()
	}
	return ctx
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (t *Tracer) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if t.BatchStatement != nil {
		t.BatchStatement(data.SQL, data.Args)
	}
}

// TraceBatchEnd implements [pgx.BatchTracer].
func (t *Tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (t *Tracer) checkDeadline(ctx context.Context, sql string) {
	if _, limited := ctx.Deadline(); !limited && t.Unlimited != nil {
		t.Unlimited(sql)
	}
}
