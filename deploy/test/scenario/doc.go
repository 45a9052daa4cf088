// Package scenario holds the end-to-end tests: events are published to a stream, a projector applies them to a
// database, and a reader answers requests with an API key. TestContract lists every rule of the customers' contract
// with the test that proves it.
package scenario
