// Package auditqueue is the reader's audit queue: a bounded queue between requests and the stream of audit entries.
//
//	request ── Reserve ── permit ── response ── Record ──> queue ── Run ──> stream AUDIT_LOG
//	   │          │                                          ▲                   │
//	   │       ErrFull: refused                              │         acknowledged: the place is free again
//	   └── refused before it had a permit ── RecordRefused ── one entry, then counts
//
// A request that asks for a permit reserves a place before. The place is free again only when the stream has
// acknowledged the entry. So a request whose entry has no place is refused instead of being answered without an audit
// entry. A lineage has a share of the places: while its share is full, the requests of others are answered.
//
// Requests that are refused before they have a permit are not bounded by a budget. The first of them gets an entry at
// once. Equal ones are counted in memory, and every 10 seconds the count becomes an entry. Counting needs no place. So
// the counts of all entries add up to the number of requests, however many there are and however long the stream is
// unreachable.
//
// A reader that is killed with SIGKILL loses the entries that were not acknowledged and the counts of the last 10
// seconds. A reader that is stopped loses none, unless the stream is unreachable for as long as [Queue.Run] waits at
// the end; Run then reports the number of lost entries.
//
// It is a package of its own, so that only these functions take a place and free it.
package auditqueue
