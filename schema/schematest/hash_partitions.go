package schematest

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

// HashPartitions is the number of partitions that PartitionByHash divides a table into.
const HashPartitions = 8

const partitionByHashSQL = `
	do $$ declare t name; begin
	  for t in
	    select relname from pg_class join pg_attribute on attrelid = pg_class.oid
	    where relnamespace = 'projection'::regnamespace and relkind = 'r' and attname = 'partition'
	  loop
	    execute format('alter table projection.%I rename to whole', t);
	    execute format('create table projection.%I (like projection.whole including all) partition by hash (partition)', t);
	    for n in 0..7 loop -- HashPartitions
	      execute format('create table projection.%I partition of projection.%I for values with (modulus 8, remainder %s)', t || '_of_' || n, t, n);
	    end loop;
	    drop table projection.whole;
	  end loop;
	end $$;
	grant select on all tables in schema projection to callboard_reader;
	grant select, insert, update, delete on all tables in schema projection to callboard_projector`

// PartitionByHash divides the tables of the live projection, which are empty, by the hash of their column partition.
// Such a table, with the same columns, keys and indexes, stands for one whose rows are on several servers. Tables
// without the column stay as they are.
func (d *Database) PartitionByHash(tb testing.TB) {
	tb.Helper()
	withConn(tb, d.URL(), func(conn *pgx.Conn) {
		if _, err := conn.Exec(tb.Context(), partitionByHashSQL); err != nil {
			tb.Fatalf("hash partitions: %v", err)
		}
	})
}

// scanOfPartition matches the scan of a hash partition in a plan. Scans of indexes have the table's name after that of
// the index.
var scanOfPartition = regexp.MustCompile(`Scan[^\n]* on \w+_of_(\d)\b`)

// ScannedPartitions returns the numbers of the hash partitions that a plan scans, each once, and how many scans there
// are.
func ScannedPartitions(plan string) (numbers []string, scans int) {
	for _, match := range scanOfPartition.FindAllStringSubmatch(plan, -1) {
		numbers = append(numbers, match[1])
	}
	scans = len(numbers)
	slices.Sort(numbers)
	return slices.Compact(numbers), scans
}

// HashPartition returns the number of the hash partition that has a partition's rows.
func (d *Database) HashPartition(tb testing.TB, partition int16) (number string) {
	tb.Helper()
	withConn(tb, d.URL(), func(conn *pgx.Conn) {
		err := conn.QueryRow(tb.Context(), fmt.Sprintf(`
			select n::text from generate_series(0, %[1]d - 1) n
			where satisfies_hash_partition('projection.position'::regclass, %[1]d, n, $1::smallint)`, HashPartitions), partition).Scan(&number)
		if err != nil {
			tb.Fatalf("hash partition: %v", err)
		}
	})
	return number
}
