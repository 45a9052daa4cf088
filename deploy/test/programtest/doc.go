// Package programtest builds programs for tests, and runs them as processes.
package programtest
