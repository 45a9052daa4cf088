//go:build race

package fault_test

// raceDetector tells whether the tests look for races; then the programs that they start do too.
const raceDetector = true
