// Package limit meters requests, exactly, across all readers.
//
// A permit is messages on a subject of a JetStream stream that forgets them after a minute and refuses more than so many a
// subject: a log that slides. Whether a request is over its budget is decided by the server, where it stores the permit, so
// readers need not know of each other. The stream lies in memory: after a restart of NATS it is made again, empty.
//
// A key has a bucket for its tier's allowance and one for each report operation. A request for a report takes from two of
// them in one atomic batch, so a refused request costs nothing anywhere. A stream has one size for all its subjects, so
// buckets of different size differ in what a permit weighs (see [weigh]).
//
// A decision takes 50 ms at most:
//
//	a permit was stored          allowed
//	a bucket is full             refused; until a permit comes back, other requests are refused without asking
//	no answer, a report          refused
//	no answer, anything else     allowed up to the tier's allowance on this reader alone
//
// A stream whose settings don't count permits is as good as no answer.
package limit
