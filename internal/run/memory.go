package run

import (
	"math"
	"os"
	"runtime/debug"
)

// relaxedGC is GOGC of a program that spends memory on fewer collections: the heap grows to five times what is in use.
const relaxedGC = 400

// LimitMemory limits the process's memory, unless GOMEMLIMIT does, and relaxes the garbage collector.
func LimitMemory(bytes int64) {
	const readOnly = -1
	if debug.SetMemoryLimit(readOnly) == math.MaxInt64 {
		debug.SetMemoryLimit(bytes)
	}
	RelaxGC()
}

// RelaxGC lets the garbage collector run less often in a process whose memory is limited by GOMEMLIMIT. Near the limit it runs as often as
// it has to. Without a limit, or where the operator set GOGC, nothing changes.
func RelaxGC() {
	const readOnly = -1
	if os.Getenv("GOGC") == "" && debug.SetMemoryLimit(readOnly) != math.MaxInt64 {
		debug.SetGCPercent(relaxedGC)
	}
}
