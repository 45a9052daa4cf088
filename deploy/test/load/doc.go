// Package load measures the write path, the read path and webhooks, and loads the reader, with the programs as
// processes. The normal test suite runs none of it.
//
//	wrk ──> readapi ─────┬──> PostgreSQL <── projector <── NATS <── events
//	        bare server ─┘
//
//	-read      pages of the reader beside those of a bare server: net/http and pgx, without keys, budgets, audit and logs
//	-write     a backlog in the projector beside bare upserts of the same rows; a rebuild; how soon an event is visible
//	-capacity  what a sizing needs, for several topologies
//	-webhooks  how soon and how fast webhooks are sent, and what they cost the projector
//	-load      the largest requests, many at once, in the memory of a container
//
// Every figure is a median of several rounds in one run, because figures of different runs and machines can't be
// compared. -load checks the memory. What is timed is printed and not checked.
//
// All of it needs Linux, where the processor time and the memory of processes are read from /proc. -read and -capacity
// need wrk, too.
package load
