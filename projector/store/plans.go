package store

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"sync"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
)

//go:embed session.sql
var sessionSQL string

// plans tells when connections must plan their statements again. All indexes of an empty table cost the same, so
// the planner may choose one by which a load by key reads all rows of a phone system, and PostgreSQL keeps that
// plan however large the table grows.
//
// Rows are counted by table: a table can stay empty for long beside full ones. They are counted for all
// connections: one that was idle has plans of smaller tables than the others. Rows that other projectors write
// don't count. They are of other phone systems, which no statement of this one reads.
type plans struct {
	mu      sync.Mutex
	written map[string]int64 // rows by table
	planned map[string]int64 // what written was when the age last rose
	age     int              // rises when plans are out of date
}

// fewRows is how many rows a table has at least when its plans are made again. Of fewer, indexes still cost about
// the same.
const fewRows = 256

func newPlans() *plans { return &plans{written: make(map[string]int64)} }

// wrote counts rows that were inserted or updated. When a table has twice as many as at the last time, all plans
// are out of date: about 20 times in 10^9 rows, if tables grow together.
func (p *plans) wrote(table string, rows int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written[table] += rows
	if p.written[table] >= max(2*p.planned[table], fewRows) {
		p.planned = maps.Clone(p.written)
		p.age++
	}
}

// outdate makes all plans out of date.
func (p *plans) outdate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.age++
}

// configure applies the settings of batches to a connection and discards its plans, unless it has both from the
// same age.
func (p *plans) configure(ctx context.Context, conn *pgx.Conn) error {
	type configured struct {
		plans *plans
		age   int
	}
	const key = "callboard.store.configured"

	// The age is read before the plans are discarded: where it rises meanwhile, the next use discards them again.
	p.mu.Lock()
	now := configured{p, p.age}
	p.mu.Unlock()

	data := conn.PgConn().CustomData()
	if data[key] == now {
		return nil
	}

	if _, err := conn.Exec(ctx, sessionSQL); err != nil {
		return fmt.Errorf("session settings: %w", err)
	}
	if err := schema.PlanEachTime(ctx, conn); err != nil {
		return err
	}

	data[key] = now
	return nil
}
