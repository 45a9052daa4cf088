// Package ingest turns the messages of a partition into events or dead letters, and commits the partition's next rows,
// position and message counts: an [Applier] runs fold and store in one transaction, and isolates what PostgreSQL refuses.
//
// A worker, a rebuild and a verification use it alike. The decisions of the first application are in
// [store.Decisions]: clock adjustments, and which messages were dead letters. A later application repeats them.
package ingest
