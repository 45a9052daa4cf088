// Package store is the SQL that writes the projection.
//
// A batch is one transaction: [Tx.Load] reads the rows that its events touch, and [Tx.Write] writes the rows that
// changed, counters, dead letters, clock adjustments and the position. The position is compared and swapped: where
// its epoch or sequence is not the one that the batch started from, the write fails with [ErrFenced] and the
// transaction changes nothing.
//
// Each table is one list of columns. Loading and writing rows are derived from it.
package store
