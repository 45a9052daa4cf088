package store_test

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

// Where the tables are divided by partition, each statement of a batch scans one of the parts.
func TestStore_TouchesOnePartition(t *testing.T) {
	t.Parallel()
	_, database, pool := openStore(t)
	if !schematest.OnNodes() {
		database.DivideByPartition(t)
	}
	var mu sync.Mutex
	seen := map[string][]any{} // the arguments of statements
	record := func(sql string, arguments []any) {
		mu.Lock()
		defer mu.Unlock()
		seen[sql] = arguments
	}
	s := store.New(schematest.OpenTracedPool(t, pool, &schematest.Tracer{Statement: record, BatchStatement: record}))
	full, position := fullHistory(), claim(t, s)
	position = applyBatch(t, s, position, full)
	var deletions []timedEvent
	for _, e := range full {
		e.Version += 10
		deletions = append(deletions, timedEvent{Event: events.Deleted(e.Identity), At: e.At})
	}
	applyBatch(t, s, position, deletions)
	if schematest.OnNodes() {
		explainTasks(t, pool, seen)
		return
	}
	explainAll(t, pool, seen, strconv.Itoa(int(position.Partition)))
}

// explainTasks fails where a statement is more than one task: it would touch more than one node.
func explainTasks(t *testing.T, pool *pgxpool.Pool, statements map[string][]any) {
	t.Helper()
	explained := 0
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	store.RegisterArrays(conn.Conn())
	for sql, arguments := range statements {
		if !explainable.MatchString(sql) {
			continue
		}
		rows, _ := conn.Query(t.Context(), "explain "+sql, arguments...)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		plan := strings.Join(lines, "\n")
		parts, single := schematest.Tasks(plan)
		if !single {
			t.Errorf("%s: want one task\n%s", sql, plan)
		}
		explained += min(parts, 1)
	}
	if explained < 10 {
		t.Errorf("statements that touch a node = %d, want at least 10", explained)
	}
}

// checkPartition fails the test where a plan scans another partition. It returns the number of scans.
func checkPartition(t *testing.T, sql, plan, want string) (scans int) {
	t.Helper()
	scanned := schematest.ScannedPartitions(plan)
	if strings.Trim(strings.Join(scanned, ""), want) != "" {
		t.Errorf("%s: partitions scanned = %v, want %s\n%s", sql, scanned, want, plan)
	}
	return len(scanned)
}

// explainable matches statements that have plans. A comment can precede them.
var explainable = regexp.MustCompile(`(?m)^(select|insert|update|delete|with)\b`)

// explainAll fails where a statement scans another partition.
func explainAll(t *testing.T, pool *pgxpool.Pool, statements map[string][]any, want string) {
	t.Helper()
	explained := 0
	err := pool.AcquireFunc(t.Context(), func(conn *pgxpool.Conn) error {
		store.RegisterArrays(conn.Conn())
		if _, err := conn.Exec(t.Context(), "set plan_cache_mode = force_generic_plan"); err != nil {
			return err
		}
		for sql, arguments := range statements {
			if !explainable.MatchString(sql) {
				continue
			}
			rows, _ := conn.Query(t.Context(), "explain "+sql, arguments...)
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Errorf("%s: %v", sql, err)
				continue
			}
			explained += min(checkPartition(t, sql, strings.Join(lines, "\n"), want), 1)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if explained < 10 {
		t.Errorf("statements that scan a partition = %d, want at least 10", explained)
	}
}
