package fault_test

import (
	"fmt"

	"github.com/jackc/pgx/v5"
)

// lockHolders are the sessions that hold partitions' locks, with how many each holds.
const lockHolders = `
  select pid, application_name, count(*) as partitions
  from control.partition_owner
  group by pid, application_name`

// owner waits until every partition is owned, and returns the projector that owns most.
func (s *stage) owner() (p *program) {
	s.tb.Helper()
	await(s.tb, "owners of every partition", func() bool {
		most, name, total := 0, "", 0
		for session, n := range s.owned() {
			if total += n; n > most {
				most, name = n, session
			}
		}
		p = s.projectorOf(name)
		return total == partitions && p != nil
	})
	return p
}

// owned is how many partitions each session owns, by name.
func (s *stage) owned() map[string]int {
	s.tb.Helper()
	rows, err := s.pool.Query(s.tb.Context(), lockHolders)
	if err != nil {
		s.tb.Fatal(err)
	}
	owned := map[string]int{}
	var pid, n int
	var name string
	if _, err := pgx.ForEachRow(rows, []any{&pid, &name, &n}, func() error { owned[name] += n; return nil }); err != nil {
		s.tb.Fatal(err)
	}
	return owned
}

// takenOver waits until every partition is owned, and none by that projector.
func (s *stage) takenOver(from *program) {
	s.tb.Helper()
	await(s.tb, "every partition taken over", func() bool {
		total := 0
		for session, n := range s.owned() {
			if s.projectorOf(session) != from {
				total += n
			}
		}
		return total == partitions
	})
}

// endLockHolder ends the session by which a projector owns its partitions, and none else.
func (s *stage) endLockHolder(p *program) {
	s.tb.Helper()
	_, err := s.pool.Exec(s.tb.Context(), fmt.Sprintf("select pg_terminate_backend(pid) from (%s) h where application_name like $1", lockHolders), sessionsOf(p))
	if err != nil {
		s.tb.Fatal(err)
	}
}
