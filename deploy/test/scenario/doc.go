// Package scenario publishes what a small phone company publishes (testdata/events.jsonl), and compares the answers of
// all operations with those of testdata/answers.json. No other package has both ends of that way.
package scenario
