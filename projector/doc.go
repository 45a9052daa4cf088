// Package projector keeps the projection: it consumes the stream, folds its events and commits rows and position together.
//
// A projector owns partitions by advisory lock; a second one stands by and takes over what the first lets go. Each owned
// partition runs by itself:
//
//	claim the position ──> make the durable consumer at position + 1  ──┐
//	      ▲                                                             ▼
//	      │                                take what is there, up to a batch
//	      │                                   decode, fetch claim checks
//	  any error:                       begin, load, fold, write, position, commit
//	 back off, start                               acknowledge
//	 from the position                                  │
//	      └─────────────────────────────────────────────┘
//
// The position row is the only place to resume from. Acknowledgements are for people and autoscalers to see the lag.
// Every failure ends in the same way: the partition starts again from its position, so there is one recovery path, and it is
// the one that every start takes.
//
// What can never be applied is a dead letter. What Postgres refuses is bisected to the event at fault.
package projector
