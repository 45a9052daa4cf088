// Package fold turns rows and an event into the next rows. It uses no clock, context, database or logger, and the
// same code runs live, in a replay and for any batch size.
//
// A [State] holds the rows that a batch of events touches. The rows that are served are also the state into which the
// next event is folded. Every entity follows these rules:
//
//   - An event whose version is not above the one last applied to its entity is stale and changes nothing.
//   - A deletion leaves a [Tombstone] with its version. A "changed" event above that version creates the entity
//     again, except a call: the deletion of a call is final for the call and for all its facets.
//   - A facet (transcript, recording, analysis) is stored when it arrives and becomes visible when its call has
//     arrived. The call or voicemail that it belongs to never changes.
//
// The transcription status of a call changes as follows. Only a stored text leaves failed and unavailable:
//
//	(none) ── queued, running ──> processing ── failed ──> failed
//	   │                              │                      │
//	   ├── skipped, removed ──────────┴──> unavailable       │
//	   │                                       │             │
//	   └── completed ──> completed <───────────┴─────────────┘
//	                         └── removed, deleted ──> unavailable
//
// UpdatedAt of a call's row is the partition's [Clock] at the event that last changed a reported value of the row. An
// event of an extension, a call group or a representative does not move it: names are resolved when a row is read.
package fold
