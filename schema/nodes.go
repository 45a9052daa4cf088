package schema

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// HasNodes tells whether a database is one of a Citus cluster, so that tables can be distributed over its nodes.
func HasNodes(ctx context.Context, db RowQuerier) (nodes bool, err error) {
	if err := db.QueryRow(ctx, "select to_regclass('pg_catalog.pg_dist_partition') is not null").Scan(&nodes); err != nil {
		return false, fmt.Errorf("nodes: %w", err)
	}
	return nodes, nil
}

// Nodes remembers whether a database has nodes. Its zero value is ready to use.
type Nodes struct{ known atomic.Pointer[bool] }

// Exist asks the database the first time.
func (n *Nodes) Exist(ctx context.Context, db RowQuerier) (bool, error) {
	if known := n.known.Load(); known != nil {
		return *known, nil
	}
	nodes, err := HasNodes(ctx, db)
	if err == nil {
		n.known.Store(&nodes)
	}
	return nodes, err
}

// IsDistributed tells whether a table is distributed over nodes. The name can have a schema.
func IsDistributed(ctx context.Context, db RowQuerier, table string) (distributed bool, err error) {
	nodes, err := HasNodes(ctx, db)
	if err != nil || !nodes {
		return false, err
	}
	const sql = "select exists (select from pg_dist_partition where logicalrelid = to_regclass($1) and partmethod = 'h')"
	if err := db.QueryRow(ctx, sql, table).Scan(&distributed); err != nil {
		return false, fmt.Errorf("distribution: %w", err)
	}
	return distributed, nil
}

// PlanEachTime lets a new connection plan each statement with its parameters where there are nodes: the node of a statement follows from its
// partition.
func PlanEachTime(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "select set_config('plan_cache_mode', 'auto', false) where to_regclass('pg_catalog.pg_dist_partition') is not null")
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	return nil
}

// OneSessionPerNode makes a transaction on a Citus cluster use one session of each node: with several, it could not change schemas afterwards. Any
// other server takes the settings for those of an extension that it lacks.
const OneSessionPerNode = "set local citus.max_adaptive_executor_pool_size = 1; set local citus.multi_shard_modify_mode = 'sequential'"

// IsNodeFailure tells whether an error says that the coordinator can't connect to a node, that a node has ended the coordinator's connection, or
// that the coordinator itself was killed. Citus reports the last two as internal errors.
func IsNodeFailure(e *pgconn.PgError) bool {
	return pgerrcode.IsConnectionException(e.Code) || e.Code == pgerrcode.InternalError &&
		(strings.HasPrefix(e.Where, "while executing command on ") || strings.HasPrefix(e.Message, "postmaster was shut down"))
}
