// Package fold is what an event means: rows × event → rows. It knows no clock, context, database or logger, and is the same
// code live, in a replay and under any batch size.
//
// A [State] holds the rows that a batch of events touches. Rows are the state: what is served is what the next event is folded
// into. The laws that every entity shares:
//
//   - An event whose version is not above the one last applied to its entity is stale and changes nothing.
//   - A deletion leaves a [Tombstone] with its version. A "changed" above it makes the entity anew, save for a call: a deleted
//     call is final, for itself and for all that hangs on it.
//   - A facet (transcript, recording) is kept from its arrival and shows once its call has arrived. What it hangs on never changes.
//
// The transcription status of a call moves like this; only a stored text leaves failed and unavailable:
//
//	(none) ── queued, running ──> processing ── failed ──> failed
//	   │                              │                      │
//	   ├── skipped, removed ──────────┴──> unavailable       │
//	   │                                       │             │
//	   └── completed ──> completed <───────────┴─────────────┘
//	                         └── removed, deleted ──> unavailable
//
// A row's UpdatedAt is the partition's [Clock] at the event that last changed a value which the row reports.
package fold
