// Package limit meters requests exactly, across all readers.
//
// A 429 is decided in three files. readapi's admit (admit.go) asks [Limiter.Take] for permits (take.go). Take refuses
// by the counters in memory, or waits until Limiter.next has decided and the server has stored the counters. Counters
// say what is full (counters.go).
//
// # State
//
// A lineage of keys has 64 counters of one second each: the 61 seconds that 60 seconds can touch, and three because
// readers know the time by a second or two. A counter has the permits that were taken in its second: of the tier, and
// of either report operation. Permits of one second return together, 60 seconds after the last of them. A permit that
// was taken stays used, whatever becomes of its request.
//
// The counters are one message of a JetStream stream in memory, in a fixed layout of 913 bytes. A reader takes permits
// by storing the next version, on the condition that the last version is the one that it was made from. If another
// reader was faster, the server refuses the write. The reader then reads the stored version, and decides again.
//
//	write acknowledged         allowed
//	another version stored     read it, decide again
//	no acknowledgement         write again; after that, decide without NATS: the permits may be used
//	counters in memory full    refused without a message
//
// All requests of a lineage that wait in one reader are decided in one write, in the order of their arrival. Tier and
// report operation are decided together, and a refused request takes no permit of either.
//
// # Invariants
//
//   - In any 60 seconds of the server's clock no more permits are taken than the allowance of the reader that takes the
//     last one.
//   - Readers estimate the server's time between two bounds. A permit is dated by the later bound when a version is
//     made, and returns by the earlier one. So a reader that knows the time badly returns permits late, never early.
//   - Dates never change. So of two versions each counter's maximum is right, unless both have permits of the second in
//     which NATS restarted: a reader merges what it reads into what it remembers. A NATS that restarts empty gets what
//     readers remember.
//   - A version that cannot be decoded is never taken for an empty one. Its lineage is decided without NATS until the
//     server has removed it, 65 seconds after it was stored.
//
// # Without NATS
//
// NATS can't be consulted while it is not connected, and while the stream is missing or has settings that do not count
// permits. The same holds after it has not replied for a request's whole timeout. Then every request is decided at
// once, until a probe is answered:
//
//	a report                refused
//	any other request       allowed up to the tier's allowance, counted by this reader alone
package limit
