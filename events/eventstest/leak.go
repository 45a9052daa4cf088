package eventstest

import "go.uber.org/goleak"

// IgnoreObjectStoreWatcher exempts one goroutine of nats.go from a leak check: storing an object starts a watcher of the connection and stops
// it again, and a watcher that was not scheduled in between finds its channel gone and waits for ever.
func IgnoreObjectStoreWatcher() goleak.Option {
	return goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect")
}
