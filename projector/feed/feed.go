// Package feed delivers the messages of a stream in order and without a gap, or fails.
//
// [SharedFeed] is the one feed of a projector. It reads all partitions of the projector by one consumer, and puts each
// message into the queue of its partition's [Member]:
//
//	consumer ──> is there room? ──> queue of partition 0 ──> Take ──> Done
//	                            ──> queue of partition 1 ──> Take ──> Done
//
// The bytes of a partition's queue and of what was taken from it are limited to its share of the memory. At the limit
// the feed waits, for all partitions. So that no partition holds up the others, one that is stuck in a batch is
// skipped. It reads what it has missed by a separate consumer once its queue is empty, and is attached again when it
// has all of it.
package feed

// batchBytes ends a batch of large messages early.
const batchBytes = 8 << 20
