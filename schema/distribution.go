package schema

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// ErrNotDistributable is a database whose projection can't be distributed.
var ErrNotDistributable = errors.New("the projection can't be distributed")

const recordShardsSQL = `
	insert into control.distribution (shards)
	select coalesce(nullif($1, 0), g.partitions, $2)
	from projection.generation g
	on conflict (one) do update
	set shards = excluded.shards
	returning shards`

// Distribute makes every generation from now on a distributed one, with a number of shards, 0: as many as the stream
// of the live one has partitions, or defaultShards before there is one. Rows that belong to partitions are in the shard
// that the hash of the partition selects, those of all tables on the same node, so that a commit and a page are one node's. Small tables that
// pages of every partition need have a copy on each node. An empty projection is distributed at once; rebuild is true where the live one has
// rows, and remains as it is until a rebuild replaces it.
func Distribute(ctx context.Context, url string, shards, defaultShards int) (rebuild bool, err error) {
	config, err := parseForMaintenance(url)
	if err != nil {
		return false, err
	}
	err = withMigrationLock(ctx, config, func(conn *pgx.Conn) error {
		empty := false
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if err := checkNodes(ctx, tx); err != nil {
				return err
			}
			if err := tx.QueryRow(ctx, recordShardsSQL, shards, defaultShards).Scan(&shards); err != nil {
				return fmt.Errorf("distribution: %w", err)
			}
			if err := distributeStreams(ctx, tx); err != nil {
				return err
			}
			if err := planOnNodes(ctx, tx, conn.Config().Database); err != nil {
				return err
			}
			if distributed, err := IsDistributed(ctx, tx, "projection.position"); err != nil || distributed {
				return err
			}
			if err := tx.QueryRow(ctx, "select exists (select from projection.position)").Scan(&rebuild); err != nil || rebuild {
				return err
			}
			empty = true
			if err := distribute(ctx, tx, "projection"); err != nil {
				return err
			}
			return grantLive(ctx, tx)
		})
		if err != nil || !empty {
			return err
		}
		return balanceShards(ctx, conn, shards)
	})
	return rebuild, err
}

// checkNodes returns [ErrNotDistributable] where no node takes shards.
func checkNodes(ctx context.Context, tx pgx.Tx) error {
	var installed bool
	err := tx.QueryRow(ctx, "select exists (select from pg_extension where extname = 'citus')").Scan(&installed)
	if err != nil {
		return fmt.Errorf("extension: %w", err)
	}
	if !installed {
		return fmt.Errorf("%w: 'create extension citus' has not been run in this database", ErrNotDistributable)
	}
	var nodes int
	err = tx.QueryRow(ctx, "select count(*) from pg_dist_node where shouldhaveshards and noderole = 'primary'").Scan(&nodes)
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	if nodes == 0 {
		return fmt.Errorf("%w: add a worker with citus_add_node", ErrNotDistributable)
	}
	return nil
}

// distributeStreams gives each node a copy of what is known of the streams, which commits read. No commit writes it.
func distributeStreams(ctx context.Context, tx pgx.Tx) error {
	var done bool
	if err := tx.QueryRow(ctx, "select exists (select from pg_dist_partition where logicalrelid = 'control.stream'::regclass)").Scan(&done); err != nil {
		return fmt.Errorf("distribution: %w", err)
	}
	if done {
		return nil
	}
	return execute(ctx, tx, []string{
		"select create_reference_table('control.stream')",
		"grant update on control.stream to callboard_projector", // to lock the copies while it inserts
		// Where a statement reads a table that the nodes have a copy of, Citus calls nextval by itself.
		"grant usage on sequence webhook.delivery_id_seq to callboard_webhooks",
	})
}

// planOnNodes gives the sessions on the nodes the settings that the reader and the projector give theirs on the coordinator: no node learns
// these.
func planOnNodes(ctx context.Context, tx pgx.Tx, database string) error {
	var steps []string
	for role, settings := range map[string][]string{
		"callboard_reader":    {"enable_bitmapscan", "enable_seqscan", "jit"},
		"callboard_projector": {"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"},
	} {
		for _, setting := range settings {
			steps = append(steps, fmt.Sprintf("alter role %s in database %s set %s = off", role, pgx.Identifier{database}.Sanitize(), setting))
		}
	}
	return execute(ctx, tx, steps)
}

// distribute distributes the tables of a generation, which are empty, if [Distribute] has said so.
func distribute(ctx context.Context, tx pgx.Tx, name string) error {
	var shards int
	err := tx.QueryRow(ctx, "select coalesce((select shards from control.distribution), 0)").Scan(&shards)
	if err != nil {
		return fmt.Errorf("distribution: %w", err)
	}
	if shards == 0 {
		return nil
	}
	// A shard that is moved to another node takes those of the live generation along.
	with, shardCount := "none", strconv.Itoa(shards)
	if live, err := IsDistributed(ctx, tx, "projection.position"); err != nil {
		return err
	} else if live {
		with, shardCount = "projection.position", "null"
	}
	statements, err := queryStatements(ctx, tx, fmt.Sprintf(`
		with relation as (
		  select
		    oid,
		    relname,
		    exists (select from pg_attribute where attrelid = oid and attname = 'partition' and not attisdropped) as partitioned
		  from pg_class
		  where relnamespace = '%[1]s'::regnamespace and relkind = 'r'
		)
		select case
		  when not partitioned then format('select create_reference_table(%%L)', oid::regclass)
		  when relname = 'position' then format('select create_distributed_table(%%L, ''partition'', shard_count => %[2]s, colocate_with => ''%[3]s'')', oid::regclass)
		  else format('select create_distributed_table(%%L, ''partition'', colocate_with => ''%[1]s.position'')', oid::regclass)
		end
		from relation
		order by partitioned, relname <> 'position', relname`, name, shardCount, with))
	if err != nil {
		return err
	}
	return execute(ctx, tx, append([]string{"set local citus.multi_shard_modify_mode = 'sequential'"}, statements...))
}
