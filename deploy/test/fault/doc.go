// Package fault holds the fault injection tests. Projectors, readers, NATS and PostgreSQL run as separate processes,
// connected through proxies. The tests kill and freeze the processes, cut connections and fill disks at random while
// events are published and clients read.
//
//	load ──> NATS ──proxy──> projectors ──proxy──> PostgreSQL <──proxy── readers <── clients
//	  │                                                │
//	  └─────────────────── check ──────────────────────┘
//
// The check compares the tables with what callboard verify builds from the first message, each dead letter with what
// was published, and what clients have read with what they were promised. The seed of faults and load is random, and
// every run logs it.
//
// TestHostile publishes what nobody should publish. A good event behind each bad one must be served.
//
// Other tests kill servers of an installation with three NATS servers and a PostgreSQL standby, let projectors write
// to two primaries at once, and kill and freeze senders of webhooks.
package fault
