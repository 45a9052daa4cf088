// Package limit meters requests exactly, across all readers.
//
// A permit is one or more messages on a subject of a JetStream stream. The stream drops messages after a minute and refuses a
// message once its subject is full, so it is a sliding log: the server decides, when it stores a permit, whether a request is over
// its budget, and readers do not need to know of each other. The stream is in memory; after a restart of NATS a reader creates it
// again, empty.
//
// A key has a bucket for its tier's allowance and one for each report operation. A request for a report takes a permit from both
// in one atomic batch, so a refused request costs nothing. A stream has one limit for all its subjects, so permits of different
// buckets take a different number of messages (see [computeWeights]).
//
// A decision takes 50 ms at most:
//
//	a permit was stored           allowed
//	a bucket is full              refused; until a permit returns, this reader refuses such requests without asking NATS
//	no reply, a report            refused
//	no reply, any other request   allowed up to the tier's allowance, counted by this reader alone
//
// A stream whose settings do not count permits is treated like a stream that does not reply.
package limit
