// Package ingest is what comes off the stream: messages as events or as dead letters, and what a partition's rows, position and
// coverage become when they are folded in order.
//
// It is the same live, in a rebuild and in a verification. What must not be decided twice is in the [store.Record] of the first time:
// where the clock was lifted, which messages were dead letters, and when a retry applied one.
package ingest
