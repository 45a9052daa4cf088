// Package webhook sends webhooks: it turns what became fetchable into requests to the endpoints that operators registered.
//
//	notices ── fan-out ──> deliveries ──> dispatcher ──> attempts ──> endpoints
//	                                          ^             │
//	                                          └─ recorder <─┘
//
// Several senders share the endpoints: a sender owns shards of them by advisory locks. A sender that ends leaves nothing behind but the locks,
// which end with its session. A delivery leaves its table in the transaction that records its last attempt, so a request whose outcome was not
// recorded is repeated, as the same event.
package webhook
