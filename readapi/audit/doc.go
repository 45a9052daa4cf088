// Package audit is the reader's audit queue: a bounded queue between requests and the stream of audit entries.
//
//	request ── Reserve ── response ── Record ──> queue ── Run ──> stream AUDIT
//	              │                                                    │
//	          ErrFull: refused                          acknowledged: the slot is free again
//
// A request reserves a slot before it is answered. The slot is free again only when the stream has acknowledged its entry. So a
// request whose entry has no slot is refused instead of being answered without an audit entry.
//
// A reader that is killed with SIGKILL loses the entries that were not acknowledged. A reader that is stopped loses none, unless the
// stream is unreachable for as long as [Queue.Run] waits at the end; Run then reports the number of lost entries.
package audit
