// Package lane decides which delivery of which endpoint is sent next. Each endpoint has a [Lane] with a breaker. A [Scheduler] shares a
// limit of requests among lanes. It has no clock and does no I/O; one goroutine uses it.
//
// The database has all deliveries. A lane has the next ones, at most [LookAhead]. It also has the ids of deliveries that are in flight or
// whose outcome is not recorded yet. Its memory does not depend on how many deliveries wait.
package lane
