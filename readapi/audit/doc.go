// Package audit is the reader's journal: a bounded queue between requests and the stream of audit entries.
//
//	request ── Reserve ── answered ── Record ──> queue ── Run ──> stream AUDIT
//	                │                                                  │
//	            ErrFull: refused                       acknowledged: the place is free again
//
// A place is taken before a request is answered, and free again only when the server has acknowledged the entry that fills it.
// So a request whose entry could find no room is refused before it is answered, rather than left unrecorded.
//
// A reader killed with SIGKILL loses what was not yet acknowledged; anything gentler loses nothing, unless the stream can't be
// reached for as long as [Queue.Run] waits at its end, and then the number lost is told.
package audit
