package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// The projection can be distributed over the nodes of a Citus cluster: a coordinator, to which the programs connect,
// and its workers.
//
//   - Tables with the column partition are distributed by it, those of all generations alike. So all rows of a
//     partition are on one node, and a commit and a page need no other.
//   - The other tables of a generation, and control.stream, are small, rarely change, and statements of every partition
//     read them: each node has a copy.
//   - Everything else is on the coordinator.

// ErrNotDistributable is a database whose projection can't be distributed.
var ErrNotDistributable = errors.New("the projection can't be distributed")

// Distribute distributes every generation from now on over that many shards; 0: as many as the stream of the live
// generation has partitions, or defaultShards before there is a stream. An empty projection is distributed at once.
// One with rows stays where it is: rebuild is true, and the next rebuild replaces it.
//
// The database remembers the decision in Citus' own terms: control.stream has copies on the nodes, and the setting
// citus.shard_count is the number of shards.
func Distribute(ctx context.Context, url string, shards, defaultShards int) (rebuild bool, err error) {
	config, err := parseForMaintenance(url)
	if err != nil {
		return false, err
	}

	err = withMigrationLock(ctx, config, func(conn *pgx.Conn) error {
		moved := false
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) (err error) {
			if shards, err = prepareNodes(ctx, tx, shards, defaultShards); err != nil {
				return err
			}

			// The live generation is distributed now, unless it has rows or is distributed already.
			distributed, err := IsDistributed(ctx, tx, "projection.position")
			if err != nil || distributed {
				return err
			}

			err = tx.QueryRow(ctx, "select exists (select from projection.position)").Scan(&rebuild)
			if err != nil || rebuild {
				return err
			}

			// The tables have no rows, so no rows move.
			moved = true
			if err := distribute(ctx, tx, "projection"); err != nil {
				return err
			}
			return grantLive(ctx, tx)
		})

		if err != nil || !moved {
			return err
		}
		return balanceShards(ctx, conn, shards)
	})

	return rebuild, err
}

// prepareNodes sets the number of shards, which it returns, and gives the nodes what statements need there.
func prepareNodes(ctx context.Context, tx pgx.Tx, shards, defaultShards int) (int, error) {
	if err := checkNodes(ctx, tx); err != nil {
		return 0, err
	}

	// A given number wins over the partitions of the live generation, and these win over the default.
	const shardsSQL = "select coalesce(nullif($1, 0), partitions, $2) from projection.generation"
	if err := tx.QueryRow(ctx, shardsSQL, shards, defaultShards).Scan(&shards); err != nil {
		return 0, fmt.Errorf("distribution: %w", err)
	}

	// The database's setting is for later sessions, and the local setting is for this transaction.
	err := execute(ctx, tx, []string{
		fmt.Sprintf("alter database %s set citus.shard_count = %d", databaseOf(tx), shards),
		fmt.Sprintf("set local citus.shard_count = %d", shards),
	})
	if err != nil {
		return 0, err
	}

	if err := distributeStreams(ctx, tx); err != nil {
		return 0, err
	}
	return shards, planOnNodes(ctx, tx)
}

func databaseOf(tx pgx.Tx) string { return pgx.Identifier{tx.Conn().Config().Database}.Sanitize() }

// checkNodes returns [ErrNotDistributable] where no node takes shards.
func checkNodes(ctx context.Context, tx pgx.Tx) error {
	nodes, err := HasNodes(ctx, tx)
	if err != nil {
		return err
	}
	if !nodes {
		return fmt.Errorf("%w: 'create extension citus' has not been run in this database", ErrNotDistributable)
	}

	// A node counts only if shards may be placed there.
	var workers bool
	err = tx.QueryRow(ctx, "select exists (select from ("+nodesSQL+") node)").Scan(&workers)
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}

	if !workers {
		return fmt.Errorf("%w: add a worker with citus_add_node", ErrNotDistributable)
	}
	return nil
}

// distributeStreams gives each node a copy of what is known of the streams. Commits read it, and none writes it.
func distributeStreams(ctx context.Context, tx pgx.Tx) error {
	if done, err := isCopied(ctx, tx, "control.stream"); err != nil || done {
		return err
	}
	return execute(ctx, tx, []string{
		"select create_reference_table('control.stream')",
		"grant update on control.stream to callboard_projector", // to lock the copies while it inserts
		// Where a statement reads a table of which the nodes have a copy, Citus calls nextval by itself.
		"grant usage on sequence webhook.delivery_id_seq to callboard_webhooks",
	})
}

// planOnNodes gives sessions on the nodes the settings that the reader and the projector make on the coordinator:
// no node learns these.
func planOnNodes(ctx context.Context, tx pgx.Tx) error {
	var steps []string
	for role, settings := range map[string][]string{
		"callboard_reader":    {"enable_bitmapscan", "enable_seqscan", "jit"},
		"callboard_projector": {"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"},
	} {
		for _, setting := range settings {
			steps = append(steps, fmt.Sprintf("alter role %s in database %s set %s = off", role, databaseOf(tx), setting))
		}
	}
	return execute(ctx, tx, steps)
}

// distributeSQL makes the statements that distribute the tables of the schema %[1]s: first position, which the
// others go along with. Where a shard of position is moved to another node, the same shard of %[2]s goes there, too.
const distributeSQL = `
	with relation as (
	  select
	    oid,
	    relname,
	    exists (
	      select from pg_attribute where attrelid = oid and attname = 'partition' and not attisdropped
	    ) as partitioned
	  from pg_class
	  where relnamespace = '%[1]s'::regnamespace and relkind = 'r'
	)
	select case
	  when not partitioned then format('select create_reference_table(%%L)', oid::regclass)
	  when relname = 'position' then format(
	    'select create_distributed_table(%%L, ''partition'', colocate_with => ''%[2]s'')', oid::regclass)
	  else format('select create_distributed_table(%%L, ''partition'', colocate_with => ''%[1]s.position'')', oid::regclass)
	end
	from relation
	order by partitioned, relname <> 'position', relname`

// distribute distributes the tables of a generation, which are empty, if [Distribute] has said so.
func distribute(ctx context.Context, tx pgx.Tx, name string) error {
	if copied, err := isCopied(ctx, tx, "control.stream"); err != nil || !copied {
		return err
	}

	// Beside a live generation on nodes, the partitions of another one are where its are.
	with := "none"
	if live, err := IsDistributed(ctx, tx, "projection.position"); err != nil {
		return err
	} else if live {
		with = "projection.position"
	}

	statements, err := queryStatements(ctx, tx, fmt.Sprintf(distributeSQL, name, with))
	if err != nil {
		return err
	}
	return execute(ctx, tx, append([]string{OneSessionPerNode}, statements...))
}

const (
	// partitionsByShardSQL has the shards that partitions 0 to $1 - 1 are in, each with its node and the number of its
	// partitions.
	partitionsByShardSQL = `
		select s.shardid, n.nodename, n.nodeport, s.partitions
		from (
		  select get_shard_id_for_distribution_column('projection.position', p::smallint) as shardid, count(*) as partitions
		  from generate_series(0, $1::integer - 1) p
		  group by 1
		) s
		join pg_dist_placement using (shardid)
		join pg_dist_node n using (groupid)
		where n.noderole = 'primary'
		order by s.partitions desc, s.shardid`

	nodesSQL = `
		select nodename, nodeport
		from pg_dist_node
		where shouldhaveshards and noderole = 'primary'
		order by nodename, nodeport`

	moveShardSQL = "select citus_move_shard_placement($1, $2, $3, $4, $5, shard_transfer_mode => 'block_writes')"
)

// node is a server that has shards.
type node struct {
	Host string
	Port int32
}

// shard is a shard that has partitions.
type shard struct {
	ID         int64
	Host       string
	Port       int32
	Partitions int64
}

// balanceShards moves shards of the projection, whose tables are empty, until no move makes the numbers of partitions
// of two nodes more equal. The hash leaves some shards without a partition and gives others several.
func balanceShards(ctx context.Context, conn *pgx.Conn, partitions int) error {
	shards, err := collect[shard](ctx, conn, partitionsByShardSQL, partitions)
	if err != nil {
		return fmt.Errorf("list the shards: %w", err)
	}
	nodes, err := collect[node](ctx, conn, nodesSQL)
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}

	// The list of shards follows the moves, so no move needs another query.
	for s, to := nextMove(shards, nodes); s != nil; s, to = nextMove(shards, nodes) {
		if _, err := conn.Exec(ctx, moveShardSQL, s.ID, s.Host, s.Port, to.Host, to.Port); err != nil {
			return fmt.Errorf("move shard %d: %w", s.ID, err)
		}
		s.Host, s.Port = to.Host, to.Port
	}
	return nil
}

// nextMove returns the largest shard of the node with the most partitions that makes it more equal to the node with
// the fewest. s is nil where there is none.
func nextMove(shards []shard, nodes []node) (s *shard, to node) {
	on := make(map[node]int64)
	for _, s := range shards {
		on[node{s.Host, s.Port}] += s.Partitions
	}
	fewest := slices.MinFunc(nodes, func(a, b node) int { return cmp.Compare(on[a], on[b]) })
	most := slices.MaxFunc(nodes, func(a, b node) int { return cmp.Compare(on[a], on[b]) })

	// The shards are sorted by their partitions, so the first match is the largest shard.
	for i := range shards {
		s := &shards[i]
		if (node{s.Host, s.Port}) == most && on[fewest]+s.Partitions < on[most] {
			return s, fewest
		}
	}
	return nil, node{}
}

func collect[T any](ctx context.Context, conn *pgx.Conn, sql string, arguments ...any) ([]T, error) {
	rows, _ := conn.Query(ctx, sql, arguments...)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}
