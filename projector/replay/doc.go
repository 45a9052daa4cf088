// Package replay reads the stream once and folds it from nothing on, in bounded memory.
//
// A [Plan] divides each partition into parts: some small phone systems that fit in memory together, or a large one, which is divided into
// slots. A [Spool] holds the messages in files, by part and slot. A [PartFold] folds a part: in memory, or its slots into sorted files, some
// at the same time, which it merges.
//
//	stream ── Append ──> files by part and slot ── UpTo ──> rows in order, message counts, position
//
// # Slots
//
// A call or a voicemail and everything that belongs to it are in the slot of its hash, so that the fold of a slot finds what it would find
// in the fold of the whole part. Calls look up extensions, call groups and representatives: these are in all slots, and keep their rows in
// the first one. Everything else is in the first slot. Rows of slots are disjoint, and counters are additive.
//
// The deletion of a recording or an analysis doesn't name its call or voicemail, and an event that names another one than before is
// refused. So each of their events leaves a facet reference, and [PartFold.UpTo] resolves these: all events of a recording or an analysis are
// folded in the slot of the first owner that the fold can accept. That is the owner in the first "changed" event whose version is above
// those of all deletions before it.
//
// # Clocks and decisions
//
// A record has the partition's clock as it follows from all messages of the partition and from its clock caps. So a message is spooled after
// the caps that it may be in are on record: up to the position of the live projection ([Spool.SetClockCaps]). The other decisions of the
// first application (clock adjustments and dead letters) are applied when a part is folded.
//
// # Use
//
// A rebuild opens the spool of its generation, continues after [Spool.Sequence], calls [Spool.Append] up to the greatest target, with a
// [Spool.Checkpoint] now and then, and [Spool.SkipTo] at the end. Then each part is folded up to its partition's target and copied in one
// transaction, before [Spool.Done] deletes its files. A verification has the same targets. Then its goroutines take a snapshot of the
// tables, call [Spool.Extend] with the partition's messages up to the snapshot's position, fold up to it and merge the rows in the order of
// keys with the tables'. A repair has one part with one phone system, and OnlyNamed; all its messages are extensions.
package replay
