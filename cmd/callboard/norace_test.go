//go:build !race

package main_test

const raceDetector = false
