//go:build !race

package fault_test

const raceDetector = false
