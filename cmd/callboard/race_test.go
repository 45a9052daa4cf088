//go:build race

package main_test

// raceDetector tells whether the tests look for races; then the programs that they start do too.
const raceDetector = true
