// Package load measures the write path and the read path, and loads the latter, with the programs as processes. The normal test suite runs
// only the check that all servers of the comparison return the same rows.
//
//	wrk ──> readapi ──────┬──> PostgreSQL <── projector <── NATS <── events
//	        bare servers ─┘
//
// -read compares pages of the reader with those of bare servers: net/http and pgx, without keys, budgets, audit and logs. Every figure is
// a median of several rounds in one run, because figures of different runs and machines can't be compared.
//
// -write measures how fast the projector works off a backlog, beside bare upserts of the same rows and beside consumers that commit each
// event. It measures how soon an event is visible. It compares rebuilds and verifications with copying and indexing the same rows.
//
// -load runs clients that a reader must withstand. What these tests count is checked. What they time is printed and not checked.
//
// All of it needs Linux, where the processor time and the memory of processes are read from /proc; the read path needs wrk, too.
package load
