// Package fault holds the tests that break things: projectors, readers, NATS and PostgreSQL run as processes of their own, with
// lines between them that can be cut, and are killed, stopped and cut off at random while events keep coming. It has no code of its own.
//
//	feed ──> NATS ──line──> projectors ──line──> PostgreSQL ──line──> readers ──> clients
//	  │                                              │
//	  └──────────────── the verdict ─────────────────┘
//
// Another test rebuilds the projection while events come without a pause and a crowd asks, which must not notice.
//
// Whatever happened, what is there in the end must be what an undisturbed projector makes of the same stream, what a pure fold of it
// makes, and what clients were promised on the way. Faults and load come from a seed that every run prints.
package fault
