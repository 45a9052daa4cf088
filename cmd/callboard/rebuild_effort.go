package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"callboard/cmd/process"
)

// effort is how much of the machine folding may take.
type effort struct {
	Batch      int           `default:"2000" help:"How many messages are folded at a time."`
	Memory     memory        `default:"2GiB" help:"How much memory the folded rows may take, roughly. Less makes more passes over the stream."`
	Workers    int           `placeholder:"N" help:"How many partitions are folded at a time; one a processor by default."`
	MaxLiveLag time.Duration `default:"10s" help:"Wait while the live projection is later than this; 0 never waits."`
}

// complete is the effort with every default, or what is wrong with it.
func (e effort) complete() (effort, error) {
	if e.Batch < 1 || e.Workers < 0 || e.MaxLiveLag < 0 {
		return e, &process.UsageError{Detail: "--batch is 1 or more, --workers and --max-live-lag not negative"}
	}
	if e.Workers == 0 {
		e.Workers = runtime.GOMAXPROCS(0)
	}
	return e, nil
}

// modest is the effort of work that folds no more than one partition.
func modest() effort { return effort{Batch: 2000, Workers: 1} }

// memory is a number of bytes.
type memory int64

// UnmarshalText reads a whole number of MiB, GiB or TiB.
func (m *memory) UnmarshalText(text []byte) error {
	for unit, shift := range map[string]int{"MiB": 20, "GiB": 30, "TiB": 40} {
		number, ok := strings.CutSuffix(string(text), unit)
		if !ok {
			continue
		}
		if n, err := strconv.ParseUint(number, 10, 22); err == nil && n > 0 {
			*m = memory(n << shift)
			return nil
		}
	}
	return fmt.Errorf("%q is no memory such as 512MiB or 2GiB", text)
}
