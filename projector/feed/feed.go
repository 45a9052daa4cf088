// Package feed delivers the messages of a stream in order and without a gap, or fails.
//
// [SharedFeed] is the one feed of a projector. It reads all partitions of the projector by one consumer, and puts each message into the queue
// of its partition's [Member]:
//
//	consumer ──> is there room? ──> queue of partition 0 ──> Take ──> Done
//	                            ──> queue of partition 1 ──> Take ──> Done
//
// The bytes of all queues and of what was taken are counted, and have a limit. At the limit the feed waits, for all partitions. So that no
// partition holds up the others, one whose queue exceeds its share is detached: the feed skips its messages. It reads them by a separate
// consumer once its queue is empty, and is attached again when it has all of them.
package feed

// batchBytes ends a batch of large messages early.
const batchBytes = 8 << 20
