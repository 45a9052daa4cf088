// Package store is the only SQL that writes the projection.
//
// A batch is one transaction: [Tx.Load] brings the rows that its events touch, [Tx.Commit] writes what became of them, with
// counters, dead letters, clock adjustments and the position. The position is compared and swapped: where its epoch or sequence is
// not the one that the batch started from, the commit is refused with [ErrFenced] and changes nothing.
//
// Each table is one list of columns, from which loading and upserting are made, so that the two can't drift apart.
package store
