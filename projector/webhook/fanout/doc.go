// Package fanout turns notices into deliveries: one for each endpoint whose target covers the notice's phone system.
//
//	notices of a partition ──> cursor ──> released? ──> deliveries of endpoints
//	                                        gate
//
// A cursor per partition tells up to which sequence that has happened. Several senders share the partitions: each step takes the cursors that
// no other transaction has locked. A notice is released when every database that readers use has the rows of which it tells.
package fanout
