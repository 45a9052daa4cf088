package fault_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema/schematest"
)

// replayed is the database that an undisturbed projector fills.
const replayed = "replayed"

// detailsEach is by how many messages one more detail is left out for each that is read.
const detailsEach = 20_000

// judge lets everything come to rest and holds what is there against what an undisturbed projector makes of the same stream, and
// against a pure fold of it. Projectors are stopped meanwhile, since the stream's consumers are theirs. The last verdict is about
// every answer; those before are content with some of the details where there are very many.
func (s *stage) judge(number int, last bool) {
	s.tb.Helper()
	began := time.Now()
	resume := s.feed.pause()
	defer resume()
	s.caughtUp()
	at := time.Now()
	s.past(s.pool, at)
	for _, p := range s.projectors {
		p.stop()
	}
	s.postgres.database(replayed)
	defer s.postgres.drop(replayed)
	s.copy("control.clock_adjustment", "control.dead_letter", "access.key")
	s.replay(at)
	tables := schematest.ReadProjection(s.tb, s.postgres.URL(live))
	if list := tables.Diff(schematest.ReadProjection(s.tb, s.postgres.URL(replayed))); len(list) > 0 {
		s.tb.Errorf("what suffered (here) and a replay (there) differ:\n%s", strings.Join(list, "\n"))
	}
	folded := s.foldAll()
	folded.compare(s, tables)
	each := 1
	if !last {
		each += folded.messages / detailsEach
	}
	requests, digest := s.compareAnswers(at, each)
	for _, p := range s.projectors {
		p.start()
	}
	s.figures.verdicts = append(s.figures.verdicts, fmt.Sprintf(
		"after %d faults: %d messages, %d dead letters, %d adjustments, %d rows; %d answers %s; in %s",
		number, folded.messages, len(folded.poisons), len(folded.adjustments), tables.RowCount(), requests, digest, brief(time.Since(began))))
	s.tb.Log(s.figures.verdicts[len(s.figures.verdicts)-1])
}

// past waits until all that the stream stored before an instant is promised to be in the tables.
func (s *stage) past(pool *pgxpool.Pool, at time.Time) {
	s.tb.Helper()
	await(s.tb, "every watermark past an instant", func() bool {
		var n int
		err := pool.QueryRow(s.tb.Context(), "select count(*) from projection.position where watermark > $1", at).Scan(&n)
		if err != nil {
			s.tb.Fatal(err)
		}
		return n == partitions
	})
}

// copy brings what a replay can't know.
func (s *stage) copy(tables ...string) {
	s.tb.Helper()
	from, to := s.postgres.connect(live), s.postgres.connect(replayed)
	defer hangUp(from)
	defer hangUp(to)
	for _, table := range tables {
		var rows strings.Builder
		_, err := from.PgConn().CopyTo(s.tb.Context(), &rows, "copy "+table+" to stdout")
		if err == nil {
			_, err = to.PgConn().CopyFrom(s.tb.Context(), strings.NewReader(rows.String()), "copy "+table+" from stdin")
		}
		if err != nil {
			s.tb.Fatalf("%s: %v", table, err)
		}
	}
}
