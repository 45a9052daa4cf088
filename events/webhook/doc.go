// Package webhook is the vocabulary of outbound webhooks: the kinds of event, the request's body and headers, and how a receiver verifies it.
//
// A request has the headers and the signature of Standard Webhooks (standardwebhooks.com). A receiver written in Go verifies it with [Verify].
package webhook

// WakeSubject is the subject of the NATS message that tells senders to look for work. It has no data.
const WakeSubject = "callboard.webhooks.wake"

// DueSubject is the subject of the NATS message by which a sender tells others that endpoints got deliveries. Its data has a byte for each
// shard of endpoints.
const DueSubject = "callboard.webhooks.due"
