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

// What programs have to know where the projection is distributed over nodes. distribution.go says which tables are
// where. Statements are those of one server, with these exceptions:
//
//   - A statement goes to the node of its partition only if it is planned with its parameters: [PlanEachTime].
//   - An update or a delete of a table on nodes has no subquery on a table of the coordinator. The caller reads that
//     table before, or joins it.
//   - A transaction that renames schemas has one session on each node: [OneSessionPerNode].
//   - A setting is the coordinator's alone, unless [SetLocal] makes it.
//   - A node can be down while the others answer: [IsNodeFailure].

// HasNodes tells whether tables of a database can be distributed over nodes.
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
func IsDistributed(ctx context.Context, db RowQuerier, table string) (bool, error) {
	return isOnNodes(ctx, db, table, "h")
}

// isCopied tells whether each node has a copy of a table.
func isCopied(ctx context.Context, db RowQuerier, table string) (bool, error) {
	return isOnNodes(ctx, db, table, "n")
}

// isOnNodes tells whether a table is on nodes in a way: 'h' by the hash of a column, 'n' whole.
func isOnNodes(ctx context.Context, db RowQuerier, table, way string) (onNodes bool, err error) {
	nodes, err := HasNodes(ctx, db)
	if err != nil || !nodes {
		return false, err
	}
	const sql = "select exists (select from pg_dist_partition where logicalrelid = to_regclass($1) and partmethod = $2)"
	if err := db.QueryRow(ctx, sql, table, way).Scan(&onNodes); err != nil {
		return false, fmt.Errorf("distribution: %w", err)
	}
	return onNodes, nil
}

// NodeOfPartitionSQL selects the number of each of $1 partitions of the live projection, and the host and port of the
// server that has its rows.
const NodeOfPartitionSQL = `
	select p::integer, n.nodename || ':' || n.nodeport
	from generate_series(0, $1::integer - 1) p
	join pg_dist_placement s on s.shardid = get_shard_id_for_distribution_column('projection.position', p::smallint)
	join pg_dist_node n using (groupid)
	where n.noderole = 'primary'`

// PlanEachTime lets a new connection plan each statement with its parameters where there are nodes: the node of a
// statement follows from its partition.
func PlanEachTime(ctx context.Context, conn *pgx.Conn) error {
	const sql = `
		select set_config('plan_cache_mode', 'auto', false)
		where to_regclass('pg_catalog.pg_dist_partition') is not null`
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	return nil
}

// OneSessionPerNode makes a transaction use one session of each node: with several, it could not change schemas
// afterwards. A server without nodes takes the settings for those of an extension that it lacks.
const OneSessionPerNode = `
	set local citus.max_adaptive_executor_pool_size = 1;
	set local citus.multi_shard_modify_mode = 'sequential'`

// SetLocal applies settings such as "lock_timeout = '2s'" until the transaction ends, also in its sessions on nodes.
func SetLocal(ctx context.Context, tx pgx.Tx, settings ...string) error {
	// The whole text of a statement is passed on to the nodes, so each setting is a statement of its own.
	for _, setting := range append([]string{"citus.propagate_set_commands = 'local'"}, settings...) {
		if _, err := tx.Exec(ctx, "set local "+setting); err != nil {
			return fmt.Errorf("set %s: %w", setting, err)
		}
	}
	return nil
}

// IsNodeFailure tells whether an error says that the coordinator can't connect to a node, that a node has ended the
// coordinator's connection, or that the coordinator itself was killed.
func IsNodeFailure(e *pgconn.PgError) bool {
	if e.Code == pgerrcode.InternalError {
		return strings.HasPrefix(e.Where, "while executing command on ") ||
			strings.HasPrefix(e.Message, "postmaster was shut down")
	}
	return pgerrcode.IsConnectionException(e.Code)
}
