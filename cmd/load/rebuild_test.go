//go:build linux

package load_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"callboard/events/sample"
	"callboard/schema"
)

// TestRebuild measures rebuilds and verifications of the command, beside copying and indexing the same rows alone. It prints medians and
// checks no figure.
func TestRebuild(t *testing.T) {
	if !*writeFlag {
		t.Skip("run it with -write")
	}
	for _, systems := range []int{*systemsFlag, 4, 1} {
		t.Run(fmt.Sprintf("%d phone systems", systems), func(t *testing.T) { measureRebuild(t, systems, *callsFlag) })
	}
	t.Run(fmt.Sprintf("1 phone system, %d times the calls", growthOfStream), func(t *testing.T) { measureRebuild(t, 1, growthOfStream**callsFlag) })
}

// measureRebuild prints the medians of a company's rebuilds.
func measureRebuild(t *testing.T, systems, calls int) {
	t.Helper()
	i := replayed().start(t, sample.New(sample.Config{Seed: 1, Systems: systems, Calls: calls}), nil).project()
	var f figures
	for range *roundsFlag {
		bare := i.copyAndIndex()
		f.add("s to copy and index the rows alone", bare.Seconds())
		c := i.command("rebuild", "--json")
		f.add("s of a rebuild", c.elapsed.Seconds())
		f.add("events/s of a rebuild", float64(c.Messages)/c.elapsed.Seconds())
		f.add("events/s of a rebuild without its comparison", float64(c.Messages)/(c.elapsed.Seconds()-c.CompareSeconds))
		f.add("times copying and indexing", c.elapsed.Seconds()/bare.Seconds())
		f.add("s of processor time", c.processor.Seconds())
		f.add("MiB of resident memory", float64(c.memory))
		f.add("s of loading", c.LoadSeconds)
		f.add("s of indexing", c.IndexSeconds)
		f.add("s of comparing", c.CompareSeconds)
		f.add("ms of write pause", 1000*max(c.SnapshotPauseSeconds, c.WritePauseSeconds))
		v := i.command("verify", "--json")
		f.add("s of a verification", v.elapsed.Seconds())
		f.add("MiB of resident memory of a verification", float64(v.memory))
	}
	t.Logf("%d calls in %d phone systems, medians of %d rounds\n%s", calls, systems, *roundsFlag, f.medians())
}

// commandRun is what a command of callboard printed and took.
type commandRun struct {
	Messages                                  int64
	LoadSeconds, IndexSeconds, CompareSeconds float64
	SnapshotPauseSeconds, WritePauseSeconds   float64

	elapsed, processor time.Duration
	memory             int64 // the highest resident memory, in MiB
}

// command runs callboard with arguments, one of which is --json.
func (i *installation) command(arguments ...string) (c commandRun) {
	i.Helper()
	command := exec.CommandContext(i.Context(), programs.Path(i, "callboard"), arguments...)
	command.Env = append(command.Environ(), "CALLBOARD_NATS_URL="+i.natsURL, "CALLBOARD_POSTGRES_URL="+i.postgres.URL(i.database))
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	began := time.Now()
	err := command.Start()
	if err == nil {
		endWatch := watchMemory(command.Process.Pid)
		err = command.Wait()
		c.memory = endWatch()
	}
	c.elapsed = time.Since(began)
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &c)
	}
	if err != nil {
		i.Fatalf("callboard %v: %v\n%s", arguments, err, errs.Bytes())
	}
	state := command.ProcessState
	c.processor = state.UserTime() + state.SystemTime()
	return c
}

// copyAndIndex returns the time to copy the live rows into empty tables, two tables at a time, and to index them.
func (i *installation) copyAndIndex() (took time.Duration) {
	i.Helper()
	rows, err := i.copiedTables()
	if err != nil {
		i.Fatal(err)
	}
	conn, err := pgx.Connect(i.Context(), i.postgres.URL(i.database))
	if err != nil {
		i.Fatal(err)
	}
	defer func() { _ = conn.Close(background()) }()
	var g schema.Generation
	err = pgx.BeginFunc(i.Context(), conn, func(tx pgx.Tx) (err error) {
		g, err = schema.NewGeneration(i.Context(), tx, 0)
		return err
	})
	if err == nil {
		took, err = i.fillAndIndex(g, rows)
	}
	if err == nil {
		err = pgx.BeginFunc(i.Context(), conn, func(tx pgx.Tx) error { return g.Drop(i.Context(), tx) })
	}
	if err != nil {
		i.Fatal(err)
	}
	return took
}

// copiedTables returns the rows of all tables that follow from events, in COPY's binary format.
func (i *installation) copiedTables() (map[string]*bytes.Buffer, error) {
	conn, err := pgx.Connect(i.Context(), i.postgres.URL(i.database))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(background()) }()
	rows := make(map[string]*bytes.Buffer)
	const names = `select relname::text from pg_class where relnamespace = 'projection'::regnamespace and relkind = 'r' and relname not in ('generation', 'position')`
	listed, _ := conn.Query(i.Context(), names)
	tables, err := pgx.CollectRows(listed, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		rows[table] = new(bytes.Buffer)
		if _, err := conn.PgConn().CopyTo(i.Context(), rows[table], "copy projection."+table+" to stdout (format binary)"); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// fillAndIndex copies rows into a generation's tables, creates its indexes, and collects statistics.
func (i *installation) fillAndIndex(g schema.Generation, rows map[string]*bytes.Buffer) (time.Duration, error) {
	var copies, indexes, vacuums []func(context.Context, *pgx.Conn) error
	for table, data := range rows {
		copies = append(copies, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.PgConn().CopyFrom(ctx, data, "copy "+table+" from stdin (format binary)")
			return err
		})
		vacuums = append(vacuums, executing("vacuum (analyze, parallel 0) "+table))
	}
	for _, statement := range schema.ReaderIndexes() {
		indexes = append(indexes, executing(statement))
	}
	began := time.Now()
	for _, step := range [][]func(context.Context, *pgx.Conn) error{copies, indexes, vacuums} {
		if err := i.inPairs(g, step); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func executing(statement string) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	}
}

// inPairs does a list of works, two at a time, each with a connection that has a generation's tables on its search path.
func (i *installation) inPairs(g schema.Generation, list []func(context.Context, *pgx.Conn) error) error {
	group, ctx := errgroup.WithContext(i.Context())
	group.SetLimit(2)
	for _, work := range list {
		group.Go(func() error {
			conn, err := pgx.Connect(ctx, i.postgres.URL(i.database))
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close(background()) }()
			if _, err := conn.Exec(ctx, "set maintenance_work_mem = '256MB'; set search_path to "+g.Schema()); err != nil {
				return err
			}
			return work(ctx, conn)
		})
	}
	return group.Wait()
}
