// Package deadletter looks after dead letters: messages that couldn't be applied and are kept whole until somebody settles them.
//
// Nothing is applied here. A retry is a request in the letter's row, and the projector that owns the letter's partition tries it
// within its next tick. A letter that is dropped loses its headers and its data but keeps its row: the ledger counts it as dead, and
// a replay knows that it was never applied.
package deadletter
