// Package command tests the operator's commands and the programs beside them, all as processes: what a person at a
// terminal sees, and what survives signals and restarts.
package command
