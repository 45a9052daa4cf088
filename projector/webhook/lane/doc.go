// Package lane decides which delivery of which endpoint is sent next: one [Lane] for each endpoint, with a breaker, and a [Scheduler] that
// shares a limit of requests among lanes. It has no clock and does no I/O; one goroutine uses it.
//
// The database has all deliveries. A lane has those that are about to be sent, at most [LookAhead], and the ids of those that are in
// flight or whose outcome is not recorded yet. Its memory does not depend on how many deliveries wait.
package lane
