package schema

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

const (
	// partitionsByShardSQL has the shards that partitions 0 to $1 - 1 are in, each with its node and the number of its partitions.
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

	nodesSQL = "select nodename, nodeport from pg_dist_node where shouldhaveshards and noderole = 'primary' order by nodename, nodeport"

	moveShardSQL = "select citus_move_shard_placement($1, $2, $3, $4, $5, shard_transfer_mode => 'block_writes')"
)

// node is a server of a Citus cluster.
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

// balanceShards moves shards of the projection, whose tables are empty, until no move makes the numbers of partitions of two nodes more
// equal. The hash leaves some shards without a partition and gives others several.
func balanceShards(ctx context.Context, conn *pgx.Conn, partitions int) error {
	shards, err := collect[shard](ctx, conn, partitionsByShardSQL, partitions)
	if err != nil {
		return fmt.Errorf("list the shards: %w", err)
	}
	nodes, err := collect[node](ctx, conn, nodesSQL)
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	for s, to := nextMove(shards, nodes); s != nil; s, to = nextMove(shards, nodes) {
		if _, err := conn.Exec(ctx, moveShardSQL, s.ID, s.Host, s.Port, to.Host, to.Port); err != nil {
			return fmt.Errorf("move shard %d: %w", s.ID, err)
		}
		s.Host, s.Port = to.Host, to.Port
	}
	return nil
}

// nextMove returns the largest shard of the node with the most partitions that makes it more equal to the one with the fewest; nil: there
// is none.
func nextMove(shards []shard, nodes []node) (s *shard, to node) {
	on := make(map[node]int64)
	for _, s := range shards {
		on[node{s.Host, s.Port}] += s.Partitions
	}
	fewest := slices.MinFunc(nodes, func(a, b node) int { return cmp.Compare(on[a], on[b]) })
	most := slices.MaxFunc(nodes, func(a, b node) int { return cmp.Compare(on[a], on[b]) })
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
