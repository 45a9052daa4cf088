// Package mutate asks whether tests notice changes of the code: it makes random small ones, and runs the tests of their
// package.
package mutate

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

//nolint:gochecknoglobals // flags are
var (
	number = flag.Int("mutants", 0, "how many mutants TestMutants makes; 0 skips it")
	seed   = flag.Uint64("seed", 1, "which ones")
	only   = flag.String("only", "", "a regular expression of files")
)

const root = "../../.."

// patterns are the files whose mutants are made: what decides about rows, keys, permits and pages.
//
//nolint:gochecknoglobals // a constant
var patterns = []string{
	"projector/fold/*", "projector/ingest/*", "projector/store/*", "readapi/limit/*", "readapi/access/*", "readapi/report_walk.go",
}

// outcome is what became of a mutant.
type outcome int

const (
	killed outcome = iota
	survived
	notBuilt
)

// TestMutants makes random mutants, one at a time for each processor, and runs the tests of the mutant's package. It fails
// if fewer than nine of ten are killed, and prints the survivors: of each the file, the line and the change.
func TestMutants(t *testing.T) {
	if *number == 0 {
		t.Skip("set -mutants to their number")
	}
	mutants := choose(t)
	start := time.Now()

	var mutex sync.Mutex
	count := make(map[outcome]int)
	var survivors []string
	next := 0
	take := func() (mutant, bool) {
		mutex.Lock()
		defer mutex.Unlock()
		if next == len(mutants) || count[killed]+count[survived] >= *number {
			return mutant{}, false
		}
		next++
		return mutants[next-1], true
	}
	report := func(m mutant, o outcome) {
		mutex.Lock()
		defer mutex.Unlock()
		count[o]++
		if o == survived {
			survivors = append(survivors, fmt.Sprintf("%s:%d: %s -> %s", m.file, m.line, oneLine(m.was), oneLine(m.is)))
			t.Logf("survived: %s", survivors[len(survivors)-1])
		}
		if done := count[killed] + count[survived]; done%10 == 0 && o != notBuilt {
			t.Logf("%d of %d mutants, %d survived, %v", done, *number, count[survived], time.Since(start).Round(time.Second))
		}
	}

	var group errgroup.Group
	for range runtime.NumCPU() {
		group.Go(func() error {
			for m, ok := take(); ok; m, ok = take() {
				o, err := try(t.Context(), t.TempDir(), m)
				if err != nil {
					return err
				}
				report(m, o)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}

	t.Logf("killed %d, survived %d, not built %d", count[killed], count[survived], count[notBuilt])
	if 10*count[survived] > count[killed]+count[survived] {
		t.Errorf("killed = %d of %d, want nine of ten", count[killed], count[killed]+count[survived])
	}
}

// choose returns all mutants of the files, in random order.
func choose(t *testing.T) []mutant {
	t.Helper()
	var mutants []mutant
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			file, _ := filepath.Rel(root, path)
			extension := filepath.Ext(file)
			if extension != ".go" && extension != ".sql" || strings.HasSuffix(file, "_test.go") || !regexp.MustCompile(*only).MatchString(file) {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found, err := mutantsOf(file, text)
			if err != nil {
				t.Fatal(err)
			}
			mutants = append(mutants, found...)
		}
	}
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	return mutants
}

// try runs the tests of the mutant's package. The compiler reads the changed file in place of the project's.
func try(ctx context.Context, folder string, m mutant) (outcome, error) {
	path, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	changed := filepath.Join(folder, filepath.Base(m.file))
	overlay := filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(changed, m.apply(text), 0o600); err != nil {
		return 0, err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return 0, err
	}

	// A mutant that never ends is killed by the limit of time.
	test := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-vet=off", "-count=1", "-failfast", "-timeout=2m", "./"+filepath.Dir(m.file))
	test.Dir = root
	output, err := test.CombinedOutput()
	switch {
	case err == nil:
		return survived, nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case strings.Contains(string(output), "[build failed]") || strings.Contains(string(output), "[setup failed]"):
		return notBuilt, nil
	default:
		return killed, nil
	}
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	if s == "" {
		return "nothing"
	}
	return s
}
