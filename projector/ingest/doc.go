// Package ingest turns the messages of a partition into events or dead letters, and computes the partition's next rows, position and message
// counts from them.
//
// A worker, a rebuild and a verification use it alike. What must not be decided again is in the [store.Decisions] of the first application:
// the clock caps and adjustments, and which messages were dead letters.
package ingest
