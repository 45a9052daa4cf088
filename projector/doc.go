// Package projector writes the projection: it consumes the stream, folds its events, and commits rows and position
// together.
//
// A projector owns partitions by advisory locks; a second projector stands by and takes over partitions that the
// first one loses. A supervisor runs a worker for each owned partition:
//
//	claim the position ──> join the feed after the position ───────────┐
//	      ▲                                                             ▼
//	      │                                take the messages that are there, up to a batch
//	  any error:                              decode, fetch claim checks
//	 back off, start                   begin, load, fold, write, position, commit
//	 from the position                                  │
//	      └─────────────────────────────────────────────┘
//
// One feed reads the messages of all partitions by one consumer. A clock actor publishes a clock message when none
// has come for a while. Where nothing but clock messages waits, the supervisor moves positions and watermarks. It also
// compares the stream with the positions.
//
// A worker resumes from the position row only, and acknowledges nothing. After every failure the partition starts
// again from its position: the path of recovery is the path of every start.
//
// A message that can't be applied is a dead letter. A batch that PostgreSQL refuses is bisected down to the event at
// fault. A retry is the same message, published again: it is applied at its sequence in the stream, and the batch's
// transaction updates the dead letter.
package projector
