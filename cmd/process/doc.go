// Package process is the frame of callboard's programs: from the command line to the exit code, from the first signal to the
// last goroutine.
//
//	Main ── settings ──> Run ── Stack: actor on actor, started from below, stopped from above
//	  │        │ 2                 │
//	  │        └ bad: usage        └ each actor has a name, a goroutine and an end
//	  └ SIGINT, SIGTERM end the context; a second one kills
package process
