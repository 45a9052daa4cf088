// Package scenario holds the tests that go the whole way: events published to a real stream, folded by a real projector into a
// real database, read over HTTP with a real key. It has no code of its own.
package scenario
