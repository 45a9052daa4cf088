package schema_test

import (
	"errors"
	"testing"

	"callboard/schema"
	"callboard/schema/schematest"
)

func TestDistribute_NeedsCitus(t *testing.T) {
	schematest.NeedOneServer(t, "it has no nodes")
	t.Parallel()
	if _, err := schema.Distribute(t.Context(), schematest.New(t).URL(), 0, 16); !errors.Is(err, schema.ErrNotDistributable) {
		t.Errorf("error = %v, want %v", err, schema.ErrNotDistributable)
	}
}

const (
	// remainingSQL counts the tables of the projection that are neither distributed nor on every node.
	remainingSQL = `
		select count(*)
		from pg_class c
		where relnamespace = 'projection'::regnamespace
		  and relkind = 'r'
		  and not exists (
		    select
		    from pg_dist_partition p
		    where p.logicalrelid = c.oid
		      and p.partmethod = case
		        when exists (select from pg_attribute where attrelid = c.oid and attname = 'partition') then 'h'
		        else 'n'
		      end
		  )`

	// unevenSQL is how many partitions of 4 one node has more than another.
	unevenSQL = `
		select max(partitions) - min(partitions)
		from (
		  select count(*) as partitions
		  from generate_series(0, 3) p
		  join pg_dist_placement s on s.shardid = get_shard_id_for_distribution_column('projection.position', p::smallint)
		  group by groupid
		) node`
)

// The empty projection of a new database is distributed, and its partitions are spread equally. A later call changes
// nothing.
func TestDistribute(t *testing.T) {
	schematest.NeedNodes(t)
	t.Parallel()
	d := schematest.New(t)
	pool := d.Pool(t)
	for range 2 {
		if n := schematest.QueryOne[int](t, pool, remainingSQL); n != 0 {
			t.Errorf("tables on the coordinator = %d, want 0", n)
		}
		if n := schematest.QueryOne[int](t, pool, unevenSQL); n > 1 {
			t.Errorf("partitions that one node has more than the other = %d, want at most 1", n)
		}
		if rebuild, err := schema.Distribute(t.Context(), d.URL(), 0, 16); err != nil || rebuild {
			t.Errorf("distribute again: rebuild = %v, %v, want false", rebuild, err)
		}
	}
	if err := schema.RecreateProjection(t.Context(), d.URL()); err != nil {
		t.Fatal(err)
	}
	if n := schematest.QueryOne[int](t, pool, remainingSQL); n != 0 {
		t.Errorf("tables of a new generation on the coordinator = %d, want 0", n)
	}
}

// A projection with rows stays as it is. The next generation is distributed.
func TestDistribute_ProjectionWithRows(t *testing.T) {
	schematest.NeedNodes(t)
	t.Parallel()
	d := schematest.New(t)
	pool := d.Pool(t)
	schematest.Exec(t, pool, "select undistribute_table('control.stream')")
	if err := schema.RecreateProjection(t.Context(), d.URL()); err != nil {
		t.Fatal(err)
	}
	schematest.Exec(t, pool, `
		insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
		values (3, gen_random_uuid(), 1, 1, now(), now())`)
	if rebuild, err := schema.Distribute(t.Context(), d.URL(), 0, 16); err != nil || !rebuild {
		t.Fatalf("rebuild = %v, %v, want true", rebuild, err)
	}
	distributed, err := schema.IsDistributed(t.Context(), pool, "projection.position")
	if err != nil || distributed {
		t.Errorf("distributed = %v, %v, want false", distributed, err)
	}
	if err := schema.RecreateProjection(t.Context(), d.URL()); err != nil {
		t.Fatal(err)
	}
	if n := schematest.QueryOne[int](t, pool, remainingSQL); n != 0 {
		t.Errorf("tables of a new generation on the coordinator = %d, want 0", n)
	}
	const shards = "select count(*) from pg_dist_shard where logicalrelid = 'projection.position'::regclass"
	if n := schematest.QueryOne[int](t, pool, shards); n != 16 {
		t.Errorf("shards of a new generation = %d, want 16", n)
	}
}
