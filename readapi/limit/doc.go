// Package limit meters requests exactly, across all readers.
//
// A lineage of keys has one log: for its tier and for each report operation, the permits of the last minute. The log is one message of a
// JetStream stream. A reader takes permits by storing the log's next version, on the condition that the last version is the one that it was
// made from. If another reader was faster, the server refuses the write, and the reader reads the log and decides again. So one message is
// one decision. Tier and operation are decided together, and a refused request takes no permit of either.
//
// All requests of a lineage that wait in one reader are decided in one write, in the order of their arrival. A request for which the log
// in memory is full is refused without asking NATS: what the log holds is stored, and not yet over. A request that was allowed and could
// not be served gives its permits back with the next write of its lineage. Because another reader may have given permits back, a log that
// is older than a second refuses nothing before it is compared with the server's.
//
//	write acknowledged         allowed
//	another version stored     read the log, decide again
//	no acknowledgement         read the log: it names the last write of each reader
//	log full                   refused
//
// Time is the server's, as estimated from its replies. A permit counts from the tick in which it was stored until a minute and a tick
// have certainly passed. The stream is in memory; a reader that finds it empty after a restart of NATS stores the log that it remembers.
//
// NATS can't be consulted while it is not connected, and while the stream is missing or has settings that do not count permits. The same
// holds after it has not replied for a request's whole timeout. Then every request is decided at once, until a probe is answered:
//
//	a report                refused
//	any other request       allowed up to the tier's allowance, counted by this reader alone
package limit
